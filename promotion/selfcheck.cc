#include "promotion/selfcheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

#include "base/file.h"
#include "base/file_lock.h"
#include "base/nearest.h"
#include "promotion/selfcheck_report.h"

namespace flipgate {
namespace {

using fg::ErrorKind;
using fg::Result;
using fg::Status;

bool Holds(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string> FaultNames(const std::vector<PlantedFault>& faults) {
  std::vector<std::string> names;
  for (const PlantedFault& fault : faults) names.push_back(fault.name);
  return names;
}

// The faults that --fault names, in the engine's order; all where it names none.
std::vector<PlantedFault> TriedFaults(const SelfCheckOptions& options) {
  std::vector<PlantedFault> tried;
  for (const PlantedFault& fault : options.faults) {
    const bool named = options.fault_names.empty() || Holds(options.fault_names, fault.name);
    const bool meant = options.kinds.empty() ||
                       std::any_of(fault.kinds.begin(), fault.kinds.end(),
                                   [&](const auto& kind) { return Holds(options.kinds, kind); });
    if (named && meant) tried.push_back(fault);
  }
  return tried;
}

// Cells of one kind that passed the control run, in the order in which a trial runs them.
struct UsableKind {
  std::vector<CellId> cells;
  double seconds = 0;  // of all of them
  std::string why_none;
};

// The model whose cells were cheapest first, so that a kill comes soon; the matrix's order within.
void OrderByCost(const std::map<std::string, double>& seconds_of_model, UsableKind* kind) {
  std::stable_sort(kind->cells.begin(), kind->cells.end(), [&](const CellId& a, const CellId& b) {
    return seconds_of_model.at(a.model) < seconds_of_model.at(b.model);
  });
}

class SelfCheck {
 public:
  explicit SelfCheck(const SelfCheckOptions& options) : options_(options) {}
  Result<SelfCheckReport> Execute();

 private:
  void Begin();
  Status Control();
  void ReadControl(const Bundle& control);
  Trial Try(const std::string& fault, const std::string& kind, bool claimed);
  void TryOthers(const std::string& fault);
  void Claimed();
  void Others();
  Status Book(const Trial& trial, bool counted);
  void SortTrials();
  Status Write();
  // Runs task(0) ... task(count - 1) on so many threads as there are jobs.
  void SideBySide(size_t count, const std::function<void(size_t)>& task);

  const SelfCheckOptions& options_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::map<std::string, UsableKind> usable_;
  std::mutex mutex_;  // guards the rest
  SelfCheckReport report_;
  Status failed_;
  size_t done_ = 0, total_ = 0;
};

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Status SelfCheck::Write() {
  report_.seconds = SecondsSince(start_);
  return fg::WriteFileAtomic(options_.out + "/selfcheck.json",
                             SelfCheckJson(report_).dump(1) + "\n");
}

Status SelfCheck::Control() {
  std::vector<std::string> kinds;
  for (const PlantedFault& fault : report_.faults) {
    for (const std::string& kind : fault.kinds) {
      const bool meant = options_.kinds.empty() || Holds(options_.kinds, kind);
      if (meant && !Holds(kinds, kind)) kinds.push_back(kind);
    }
  }
  if (kinds.empty()) return Status::Ok();  // no fault lists any
  RunOptions control = options_.base;
  control.selection = {.cells = kinds, .without = {}};
  control.out = options_.out + "/control";
  control.jobs = options_.jobs;
  control.waivers.clear();
  FG_ASSIGN_OR_RETURN(const RunSummary summary, options_.run(control));
  report_.header = summary.bundle.header;
  ReadControl(summary.bundle);
  for (const std::string& kind : kinds) {
    UsableKind& usable = usable_[kind];
    if (usable.cells.empty() && usable.why_none.empty())
      usable.why_none = "the matrix has no cell of this kind on this class";
  }
  return Status::Ok();
}

void SelfCheck::ReadControl(const Bundle& control) {
  report_.control_seconds = control.seconds;
  std::map<std::string, std::map<std::string, std::vector<double>>> seconds;
  for (const BundleCell& cell : control.cells) {
    if (cell.outcome == Outcome::kSkipped && cell.reason == "not selected") continue;
    ++report_.control_cells;
    const SelfCheckReport::Red entry = {cell.id.Text(), OutcomeName(cell.outcome), cell.reason};
    UsableKind& kind = usable_[cell.id.kind];
    if (cell.outcome == Outcome::kPass) {
      kind.cells.push_back(cell.id);
      kind.seconds += cell.seconds;
      seconds[cell.id.kind][cell.id.model].push_back(cell.seconds);
    } else if (cell.outcome == Outcome::kSkipped || cell.outcome == Outcome::kUnsupported) {
      if (kind.why_none.empty()) kind.why_none = entry.outcome + ": " + entry.reason;
      report_.unused.push_back(entry);
    } else {
      report_.red.push_back(entry);
    }
  }
  for (auto& [name, kind] : usable_) {
    std::map<std::string, double> mean;
    for (const auto& [model, values] : seconds[name]) {
      for (const double value : values) mean[model] += value / static_cast<double>(values.size());
    }
    OrderByCost(mean, &kind);
  }
}

// What the bundle of a trial says of the fault. Cells that did not run say nothing.
void Judge(const Bundle& bundle, Trial* trial) {
  trial->state = TrialState::kSurvived;
  trial->reason = fmt::format("{} cells passed", trial->ran.size());
  for (const BundleCell& cell : bundle.cells) {
    const bool failed = cell.outcome == Outcome::kFail;
    const bool worse =
        failed || (cell.outcome != Outcome::kPass && Holds(trial->ran, cell.id.Text()));
    if (!worse || trial->state == TrialState::kKilled) continue;
    trial->state = failed ? TrialState::kKilled : TrialState::kError;
    trial->cell = cell.id.Text();
    trial->category = cell.category;
    trial->reason = cell.reason;
  }
}

// The options of a trial's run. The control run has shown that these cells pass without the fault:
// one failure is the fault's.
RunOptions TrialRun(const RunOptions& base, const std::string& fault,
                    const std::vector<CellId>& cells) {
  RunOptions run = base;
  run.fault = fault;
  run.jobs = 1;
  run.attempts = 1;
  run.waivers.clear();
  run.on_note = nullptr;
  run.order = cells;
  for (const CellId& cell : cells) run.selection.cells.push_back(cell.Text());
  return run;
}

Trial SelfCheck::Try(const std::string& fault, const std::string& kind, bool claimed) {
  Trial trial;
  trial.fault = fault;
  trial.kind = kind;
  trial.claimed = claimed;
  const auto start = std::chrono::steady_clock::now();
  const UsableKind& usable = usable_.at(kind);
  if (usable.cells.empty()) {
    trial.reason = "no cell of " + kind + " passed the control run: " + usable.why_none;
    return trial;
  }
  trial.bundle = "faults/" + fault + "/" + kind;
  RunOptions run = TrialRun(options_.base, fault, usable.cells);
  run.out = options_.out + "/" + trial.bundle;
  bool caught = false;
  run.leave_out = [&](const CellId&) -> std::string {
    return caught ? "another cell of this kind has caught the fault" : "";
  };
  run.on_cell = [&](const CellId& id, const CellResult& result, size_t, size_t) {
    if (!caught) trial.ran.push_back(id.Text());
    caught = caught || result.outcome == Outcome::kFail;
  };
  const auto summary = options_.run(run);
  trial.seconds = SecondsSince(start);
  if (summary.ok()) {
    Judge(summary->bundle, &trial);
  } else {
    trial.state = TrialState::kError;
    trial.reason = summary.status().message();
  }
  return trial;
}

Status SelfCheck::Book(const Trial& trial, bool counted) {
  std::lock_guard lock(mutex_);
  report_.trials.push_back(trial);
  done_ += counted ? 1 : 0;
  if (options_.on_trial) options_.on_trial(trial, done_, total_);
  const Status written = Write();
  if (!written.ok() && failed_.ok()) failed_ = written;
  return written;
}

void SelfCheck::SideBySide(size_t count, const std::function<void(size_t)>& task) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) task(i);
  };
  std::vector<std::thread> threads;
  for (int64_t i = 1; i < options_.jobs; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
}

// Each fault against the kinds that it lists. The longest come first, so that no core waits for one
// of them at the end.
void SelfCheck::Claimed() {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const PlantedFault& fault : report_.faults) {
    for (const std::string& kind : fault.kinds) {
      if (options_.kinds.empty() || Holds(options_.kinds, kind))
        pairs.emplace_back(fault.name, kind);
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(), [&](const auto& a, const auto& b) {
    return usable_.at(a.second).seconds > usable_.at(b.second).seconds;
  });
  total_ = pairs.size();
  SideBySide(pairs.size(),
             [&](size_t i) { (void)Book(Try(pairs[i].first, pairs[i].second, true), true); });
}

// The other kinds of the control run, the cheapest first, until one kills.
void SelfCheck::TryOthers(const std::string& fault) {
  std::vector<std::string> kinds;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [kind, usable] : usable_) {
      const bool tried =
          std::any_of(report_.trials.begin(), report_.trials.end(),
                      [&](const Trial& t) { return t.fault == fault && t.kind == kind; });
      if (!tried && !usable.cells.empty()) kinds.push_back(kind);
    }
  }
  std::stable_sort(kinds.begin(), kinds.end(), [&](const std::string& a, const std::string& b) {
    return usable_.at(a).seconds < usable_.at(b).seconds;
  });
  for (const std::string& kind : kinds) {
    const Trial trial = Try(fault, kind, false);
    if (!Book(trial, false).ok() || trial.state == TrialState::kKilled) return;
  }
}

// A fault that no kind of its list killed: by another kind, or by none?
void SelfCheck::Others() {
  std::vector<std::string> alive;
  for (const PlantedFault& fault : report_.faults) {
    const auto state = report_.StateOf(fault.name);
    const bool killed =
        std::any_of(report_.trials.begin(), report_.trials.end(), [&](const Trial& trial) {
          return trial.fault == fault.name && trial.state == TrialState::kKilled;
        });
    if (state == TrialState::kSurvived && !killed) alive.push_back(fault.name);
  }
  SideBySide(alive.size(), [&](size_t i) { TryOthers(alive[i]); });
  std::set<std::string> killed;
  for (const Trial& trial : report_.trials) {
    if (trial.state == TrialState::kKilled) killed.insert(trial.fault);
  }
  for (Trial& trial : report_.trials) {
    if (trial.state == TrialState::kSurvived && killed.contains(trial.fault))
      trial.state = TrialState::kByAnother;
  }
}

// Which faults are tried, and what is left without the other.
void SelfCheck::Begin() {
  report_.jobs = options_.jobs;
  report_.selected_faults = options_.fault_names;
  report_.selected_kinds = options_.kinds;
  report_.faults = TriedFaults(options_);
  for (const PlantedFault& fault : report_.faults) {
    if (fault.kinds.empty()) report_.unlisted.push_back(fault.name);
  }
  if (!options_.fault_names.empty() || !options_.kinds.empty()) return;
  for (const std::string& kind : options_.all_kinds) {
    const bool claimed =
        std::any_of(options_.faults.begin(), options_.faults.end(),
                    [&](const PlantedFault& fault) { return Holds(fault.kinds, kind); });
    if (!claimed) report_.unclaimed.push_back(kind);
  }
}

// In the order of the faults, whatever ended first.
void SelfCheck::SortTrials() {
  const std::vector<std::string> names = FaultNames(report_.faults);
  const auto key = [&](const Trial& trial) {
    const auto place = std::find(names.begin(), names.end(), trial.fault) - names.begin();
    return std::make_tuple(place, !trial.claimed, trial.kind);
  };
  std::stable_sort(report_.trials.begin(), report_.trials.end(),
                   [&](const Trial& a, const Trial& b) { return key(a) < key(b); });
}

Result<SelfCheckReport> SelfCheck::Execute() {
  FG_RETURN_IF_ERROR(fg::MakeFolders(options_.out));
  const auto folder = fg::FileLock::TryTake(options_.out);
  if (!folder.ok()) {
    return folder.status().kind() == ErrorKind::kRefused
               ? Status(ErrorKind::kUsage, options_.out +
                                               ": another self-check writes there; wait for it, or "
                                               "give --out another folder")
               : folder.status();
  }
  Begin();
  FG_RETURN_IF_ERROR(Control());
  FG_RETURN_IF_ERROR(Write());
  if (report_.red.empty()) {
    Claimed();
    Others();
  }
  FG_RETURN_IF_ERROR(failed_);
  SortTrials();
  report_.complete = true;
  FG_RETURN_IF_ERROR(Write());
  return std::move(report_);
}

}  // namespace

const char* TrialStateName(TrialState state) {
  static constexpr const char* kNames[] = {"killed", "not_judged", "error", "by_another",
                                           "survived"};
  return kNames[static_cast<int>(state)];
}

std::optional<TrialState> SelfCheckReport::StateOf(const std::string& fault) const {
  std::optional<TrialState> worst;
  for (const Trial& trial : trials) {
    if (trial.fault == fault && trial.claimed && (!worst || trial.state > *worst))
      worst = trial.state;
  }
  return worst;
}

Status CheckSelection(const SelfCheckOptions& options) {
  const std::vector<std::string> names = FaultNames(options.faults);
  for (const std::string& name : options.fault_names) {
    if (Holds(names, name)) continue;
    return Status(ErrorKind::kUsage, fmt::format("--fault {0}: unknown fault '{0}'{1}", name,
                                                 fg::DidYouMean(name, names)));
  }
  for (const std::string& kind : options.kinds) {
    if (Holds(options.all_kinds, kind)) continue;
    return Status(ErrorKind::kUsage, fmt::format("--kind {0}: unknown kind of evidence '{0}'{1}",
                                                 kind, fg::DidYouMean(kind, options.all_kinds)));
  }
  if (!TriedFaults(options).empty()) return Status::Ok();
  if (options.faults.empty())
    return Status(ErrorKind::kUsage, "head lists no fault, so there is nothing to check");
  if (options.fault_names.empty()) {
    return Status(ErrorKind::kUsage,
                  fmt::format("no fault lists {}", fmt::join(options.kinds, " or ")));
  }
  return Status(ErrorKind::kUsage,
                fmt::format("{} does not list {}", fmt::join(options.fault_names, ", "),
                            fmt::join(options.kinds, " or ")));
}

Status NarrowToClass(SelfCheckOptions* options) {
  const std::string& hardware_class = options->base.hardware_class;
  const Matrix& matrix = options->base.matrix;
  FG_ASSIGN_OR_RETURN(const ClassSpec of_class, matrix.Class(hardware_class));
  const auto elsewhere = [&](const std::string& kind) {
    return !matrix.KindInScope(kind, hardware_class);
  };
  for (const std::string& kind : options->kinds) {
    if (!elsewhere(kind)) continue;
    return Status(ErrorKind::kUsage,
                  fmt::format("--kind {}: is not measured on class '{}'", kind, hardware_class));
  }
  std::vector<PlantedFault> kept;
  for (PlantedFault fault : options->faults) {
    const bool acts =
        fault.device == "any" || of_class.device.empty() || fault.device == of_class.device;
    const bool listed = !fault.kinds.empty();
    std::erase_if(fault.kinds, elsewhere);
    if (acts && (!listed || !fault.kinds.empty())) {
      kept.push_back(std::move(fault));
    } else if (Holds(options->fault_names, fault.name)) {
      return Status(
          ErrorKind::kUsage,
          fmt::format("--fault {}: acts on device {}, or what must turn red under it is not "
                      "measured on class '{}'",
                      fault.name, fault.device, hardware_class));
    }
  }
  options->faults = std::move(kept);
  std::erase_if(options->all_kinds, elsewhere);
  return Status::Ok();
}

Result<SelfCheckReport> RunSelfCheck(const SelfCheckOptions& asked) {
  FG_RETURN_IF_ERROR(CheckFaultKinds(asked.faults, asked.all_kinds));
  SelfCheckOptions options = asked;
  FG_RETURN_IF_ERROR(NarrowToClass(&options));
  FG_RETURN_IF_ERROR(CheckSelection(options));
  return SelfCheck(options).Execute();
}

}  // namespace flipgate
