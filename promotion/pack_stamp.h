// stamp.json at the root of a packed folder (scripts/pack): what git says of the state that was
// packed, and the sums of its files, so that evidence can be made where there is no repository.
// Format: docs/hashes.md "A packed folder".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "gates/bundle.h"
#include "gates/project.h"

namespace flipgate {

inline constexpr char kStampName[] = "stamp.json";

struct PackedSnapshot {
  SnapshotRecord record;
  std::string program;  // from the folder: "snapshots/cpu/run"; "" where record.absent says why
};

// Where a packed folder keeps the snapshot of a class: "snapshots/CLASS/engine". Beside it lies
// `run`, which starts it with the folder's own libraries: an older build's program does not look
// for them.
std::string PackedSnapshotPath(const std::string& hardware_class);

struct PackStamp {
  std::string commit;
  bool dirty = false;                 // the tree that was packed had changes that no commit has
  std::string engine, suite, recipe;  // hashes
  std::map<std::string, std::string> defaults;      // class -> hash
  std::map<std::string, PackedSnapshot> snapshots;  // the classes that flipgate.yaml pins
  std::string program;                              // head's, from the folder: "bin/fg-engine"
  std::map<std::string, std::string> files;         // path from the folder -> sha256
};

std::string PackStampText(const PackStamp& stamp);
// kUsage names the member that is wrong.
fg::Result<PackStamp> ParsePackStamp(const std::string& text);

// The stamp of a folder that was packed; nothing for a checkout (a folder with a .git of its own,
// or without a stamp). kUsage where the stamp cannot be read.
fg::Result<std::optional<PackStamp>> FindPackStamp(const std::string& root);

// Sums of all files below `root` but stamp.json, links refused (kUsage).
fg::Result<std::map<std::string, std::string>> SumFiles(const std::string& root);

// What is not as it was packed, sorted: "gates/matrix.yaml", "bin/x (gone)", "gates/y (added)".
// Looks into the folders that the stamp names alone: results lie elsewhere.
fg::Result<std::vector<std::string>> ChangedFiles(const std::string& root, const PackStamp& stamp);

// "this folder is not as it was packed (2 files: a, b (gone)): its evidence counts as dirty"; at
// most five are named.
std::string ChangedNote(const std::vector<std::string>& changed);

}  // namespace flipgate
