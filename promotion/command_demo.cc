#include "promotion/command_demo.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>

#include "base/process.h"
#include "promotion/progress.h"
#include "promotion/run_setup.h"
#include "promotion/selfcheck.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;
using fg::ErrorKind;
using fg::Json;
using fg::Result;
using fg::Status;

constexpr size_t kMostTries = 4;  // each costs a control run

// A folder below the system's for temporary files, gone with the object.
class TemporaryFolder {
 public:
  static Result<std::unique_ptr<TemporaryFolder>> Make() {
    std::string path = (fs::temp_directory_path() / "flipgate-demo-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr)
      return Status(ErrorKind::kIo, path + ": " + std::strerror(errno));
    return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(path));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

// The first fault that one of its kinds catches here, tried as the self-check tries it. Kinds that
// need a snapshot have no usable cell and are passed over.
Result<std::optional<Trial>> CatchOne(SelfCheckOptions options) {
  size_t tries = 0;
  const std::string out = options.out;
  for (const PlantedFault& fault : options.faults) {
    for (const std::string& kind : fault.kinds) {
      if (++tries > kMostTries) return std::optional<Trial>();
      options.fault_names = {fault.name};
      options.kinds = {kind};
      options.out = fmt::format("{}/{}", out, tries);
      FG_ASSIGN_OR_RETURN(const SelfCheckReport report, RunSelfCheck(options));
      if (!report.red.empty()) {
        return Status(ErrorKind::kIo, fmt::format("{} is red without any fault: {}",
                                                  report.red[0].cell, report.red[0].reason));
      }
      for (const Trial& trial : report.trials) {
        if (trial.state == TrialState::kKilled) return std::optional<Trial>(trial);
      }
    }
  }
  return std::optional<Trial>();
}

void Explain(const Invocation& invocation, const Trial& trial,
             const std::vector<PlantedFault>& faults) {
  std::ostream& out = *invocation.terminal.out;
  const auto& kinds = invocation.services.kinds;
  const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const EvidenceKind& k) { return k.name == trial.kind; });
  const auto fault = std::find_if(faults.begin(), faults.end(),
                                  [&](const PlantedFault& f) { return f.name == trial.fault; });
  out << fmt::format("\nThe planted fault: {}: {}\n", fault->name, fault->description);
  out << fmt::format("The cell that saw it: {}: {} ({})\n", trial.cell,
                     invocation.terminal.Painted("fail", Terminal::Tone::kBad), trial.category);
  out << fmt::format("  why             {}\n", trial.reason);
  out << fmt::format("  it asks         {}\n", kind->question);
  out << fmt::format("  it defends from {}\n", kind->defends);
  out << fmt::format("  expected from   {}\n", kind->independent_arm);
  out << "A run with this cell is `refuted`, exit 1, and a run with a fault is never a proof.\n"
         "The check that blocks the flip, and the bisect that says where it broke, are not built "
         "yet.\n";
}

Json ToJson(const Trial& trial) {
  return {{"fault", trial.fault},
          {"kind", trial.kind},
          {"cell", trial.cell},
          {"category", trial.category},
          {"reason", trial.reason},
          {"clean", "pass"},
          {"not_built", {"check", "bisect"}},
          {"exit", 0}};
}

// An older engine to compare with may take minutes to build: the demo does without.
Result<Snapshot> NoSnapshot(const Project&, const std::string&,
                            const std::function<void(const std::string&)>&) {
  Snapshot none;
  none.record.absent = "the demo builds none";
  return none;
}

Result<SelfCheckOptions> MakeOptions(const Invocation& invocation, const RunFlags& flags,
                                     const std::string& folder, Progress* progress) {
  SelfCheckOptions options;
  FG_ASSIGN_OR_RETURN(options.base, MakeRunOptions(invocation, flags, [&](const std::string& line) {
                        progress->Note(line);
                      }));
  FG_ASSIGN_OR_RETURN(options.faults, invocation.services.faults(options.base.engine));
  options.base.on_note = nullptr;
  options.base.project.cache = folder + "/cache";
  options.base.on_cell = [progress](const CellId& id, const CellResult& result, size_t done,
                                    size_t total) {
    if (result.outcome != Outcome::kSkipped) progress->Cell(id, result, done, total);
  };
  options.all_kinds = invocation.KindNames();
  options.out = folder + "/out";
  options.jobs = options.base.jobs;
  options.run = invocation.services.run;
  return options;
}

int Demo(Invocation invocation, const RunFlags& flags) {
  fg::KillChildrenOnSignals();
  const Terminal& terminal = invocation.terminal;
  invocation.services.snapshot = &NoSnapshot;
  const auto folder = TemporaryFolder::Make();
  if (!folder.ok()) return invocation.Fail(folder.status());
  Progress progress(terminal, invocation.json ? terminal.err : terminal.out, flags.quiet);
  const auto options = MakeOptions(invocation, flags, (*folder)->path(), &progress);
  if (!options.ok()) return invocation.Fail(options.status());
  progress.Note("Clean cells first, then the same kind with a fault planted in the engine:");
  const auto caught = CatchOne(*options);
  progress.End();
  if (!caught.ok()) return invocation.Fail(caught.status());
  if (!caught->has_value()) {
    return invocation.Fail(Status(ErrorKind::kIo,
                                  "none of the faults that were tried was caught; "
                                  "`flipgate selfcheck` says more"));
  }
  if (invocation.json) {
    *terminal.out << ToJson(**caught).dump(1) << "\n";
  } else {
    Explain(invocation, **caught, options->faults);
  }
  return 0;
}

}  // namespace

void RegisterDemo(CLI::App* app, Invocation* invocation) {
  CLI::App* command = app->add_subcommand(
      "demo", "A clean cell, a planted fault, the red cell and why; leaves nothing behind");
  auto flags = std::make_shared<RunFlags>();
  AddCommonOptions(command, invocation);
  AddRunFlags(command, flags.get());
  command->callback([=] { invocation->action = [=] { return Demo(*invocation, *flags); }; });
}

}  // namespace flipgate
