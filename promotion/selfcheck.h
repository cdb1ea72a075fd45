// The self-check: does the matrix turn red where a planted fault makes it wrong? A clean control
// run first, then each fault against each kind of evidence that it lists. docs/selfcheck.md.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "gates/runner.h"
#include "promotion/faults.h"

namespace flipgate {

// From best to worst.
enum class TrialState {
  kKilled,     // a cell of the kind failed
  kNotJudged,  // no cell of the kind could be used: `reason` says why
  kError,      // the harness failed: `reason` says how
  kByAnother,  // this kind's cells passed, another kind's failed
  kSurvived,   // nothing failed
};
const char* TrialStateName(TrialState state);  // "killed", "not_judged", "error", ...

// One fault against one kind.
struct Trial {
  std::string fault, kind;
  TrialState state = TrialState::kNotJudged;
  bool claimed = true;           // the fault lists the kind; else it was asked because none killed
  std::string cell;              // that failed; "" for none
  std::string category, reason;  // of that cell; of another state, why
  std::vector<std::string> ran;  // cells that ran, in order
  double seconds = 0;
  std::string bundle;  // folder of the run's bundle, below the folder of the results; "" for none
};

struct SelfCheckReport {
  BundleHeader header;  // of the control run
  std::string started;
  bool complete = false;
  double seconds = 0, control_seconds = 0;
  int64_t jobs = 1;
  std::vector<std::string> selected_faults, selected_kinds;  // as given; empty: all
  size_t control_cells = 0;
  struct Red {
    std::string cell, outcome, reason;
  };
  std::vector<Red> red;                // cells of the control run that ended neither as pass nor
                                       // as skipped or unsupported
  std::vector<Red> unused;             // skipped and unsupported ones
  std::vector<PlantedFault> faults;    // those that are tried
  std::vector<Trial> trials;           // in the order of faults and kinds
  std::vector<std::string> unlisted;   // faults that list no kind
  std::vector<std::string> unclaimed;  // kinds that no fault lists
  std::optional<TrialState> StateOf(const std::string& fault) const;  // the worst; none: unlisted
};

struct SelfCheckOptions {
  RunOptions base;  // selection, fault, out and jobs are set per run
  std::vector<PlantedFault> faults;
  std::vector<std::string> fault_names, kinds;  // --fault, --kind; empty: all
  std::vector<std::string> all_kinds;           // of the suite
  std::string out;
  int64_t jobs = 1;  // runs side by side
  std::function<fg::Result<RunSummary>(const RunOptions&)> run;
  // From any thread, one call at a time.
  std::function<void(const Trial& trial, size_t done, size_t total)> on_trial;
};

// Leaves out what the class of `base` cannot show: faults that act on another device, and kinds out
// of its scope, from the faults' lists too. kUsage for a --fault or --kind that is left out.
fg::Status NarrowToClass(SelfCheckOptions* options);

// Which faults and kinds are meant. kUsage: an unknown name (with the nearest), a fault and a kind
// that have nothing to do with each other, a choice of nothing.
fg::Status CheckSelection(const SelfCheckOptions& options);

// Writes OUT/selfcheck.json after the control run and after each trial. A red control is no error
// here: the report has no trials then. kUsage and kIo as RunMatrix, and where OUT is in use.
fg::Result<SelfCheckReport> RunSelfCheck(const SelfCheckOptions& options);

}  // namespace flipgate
