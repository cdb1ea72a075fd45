// Runs a matrix and writes its bundle.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "gates/bundle.h"
#include "gates/cells.h"
#include "gates/matrix.h"
#include "gates/project.h"

namespace flipgate {

struct RunOptions {
  Project project;
  Matrix matrix;
  std::vector<Waiver> waivers;  // of `hardware_class`
  std::string hardware_class;   // the matrix's scope; head's hello must say the same
  CellSelection selection;
  std::string out;                  // folder of the bundle
  std::string models;               // folder of model variants; "" for the project's cache
  std::vector<std::string> engine;  // head: program and arguments before "probe"
  std::string subject = "default";
  std::string snapshot_program;  // absolute path; "" where snapshot.absent says why there is none
  SnapshotRecord snapshot;
  BundleHashes hashes;
  bool dirty =
      false;          // the project's files are not those of its commit, whatever head's build says
  std::string fault;  // FG_FAULT for head's processes only
  int64_t jobs = 1;
  // How often a failing cell runs in all: it is `fail` when each of them fails, else `flaky`.
  int64_t attempts = 3;
  std::vector<CellId> order;  // cells that run first, in this order; the rest in the matrix's
  // Asked before a selected cell runs, from any thread: "" runs it, else it is booked as skipped
  // with this reason.
  std::function<std::string(const CellId& id)> leave_out;
  // After each cell, from any thread, one call at a time.
  std::function<void(const CellId& id, const CellResult& result, size_t done, size_t total)>
      on_cell;
  std::function<void(const std::string& line)> on_note;  // what else a person should see
};

struct RunSummary {
  Bundle bundle;
  std::string bundle_path;  // OUT/bundle.json
};

// Cells that the selection leaves out are booked as `skipped: not selected`, so that no part passes
// for the whole. kUsage: a configuration that cannot be meant (hello disagrees with the matrix on
// `needs` or on the class, an unknown fault, a selection of nothing). kIo: head does not start, the
// folder cannot be written. Failing cells are no error.
fg::Result<RunSummary> RunMatrix(const RunOptions& options);

}  // namespace flipgate
