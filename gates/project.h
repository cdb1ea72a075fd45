// flipgate.yaml at a project's root: all that the suite knows of a project. Format: docs/matrix.md
// "The project".
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace flipgate {

// One step of the recipe; each word may hold {source}, {build} and {jobs}.
using BuildCommand = std::vector<std::string>;

struct SnapshotPin {
  std::string engine, defaults;  // 64 hexadecimal digits each
};

struct Project {
  std::string root;  // absolute folder of flipgate.yaml
  std::vector<std::string>
      engine_paths;  // git paths that the engine is built from, defaults left out
  std::vector<std::string> suite_paths;  // git paths of the suite hash
  std::string engine;                    // head's program, from the root: "build/bin/fg-engine"
  std::vector<BuildCommand> build;       // how a revision is built, engine alone
  std::string build_program;             // what that yields, relative to {build}: "bin/fg-engine"
  std::string matrix, defaults, waivers, ledger, proofs;  // paths from the root
  std::string cache;  // folder for snapshots and model variants, from the root: ".cache"
  std::vector<std::string> tools;  // programs that the project needs here, for `doctor`
  std::vector<std::string>
      report;  // command that renders a bundle's page; words may hold {out}; may be empty
  std::map<std::string, SnapshotPin> snapshots;  // per hardware class

  std::string Path(const std::string& from_root) const;  // absolute

  // Reads flipgate.yaml of `root`. kUsage with place.
  static fg::Result<Project> Load(const std::string& root);
  static fg::Result<Project> Parse(std::string text, std::string file_name, std::string root);
};

// The nearest folder at or above `start` that holds flipgate.yaml. kUsage says where it looked and
// names --project.
fg::Result<std::string> FindProjectRoot(const std::string& start);

}  // namespace flipgate
