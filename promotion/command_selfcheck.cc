#include "promotion/command_selfcheck.h"

#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "base/process.h"
#include "promotion/progress.h"
#include "promotion/run_setup.h"
#include "promotion/selfcheck.h"
#include "promotion/selfcheck_report.h"

namespace flipgate {
namespace {

struct SelfCheckFlags {
  RunFlags run;
  std::vector<std::string> faults, kinds;
};

Terminal::Tone ToneOf(TrialState state) {
  switch (state) {
    case TrialState::kKilled:
      return Terminal::Tone::kGood;
    case TrialState::kNotJudged:
      return Terminal::Tone::kDoubtful;
    case TrialState::kError:
    case TrialState::kByAnother:
    case TrialState::kSurvived:
      break;
  }
  return Terminal::Tone::kBad;
}

// "killed    ": states in a column.
std::string StateText(const Terminal& terminal, TrialState state) {
  return terminal.Painted(fmt::format("{:10}", TrialStateName(state)), ToneOf(state));
}

std::string TrialLine(const Terminal& terminal, const Trial& trial) {
  return fmt::format("{} {:22} {:16} {:.1f} s{}{}{}", StateText(terminal, trial.state), trial.fault,
                     trial.kind, trial.seconds, trial.cell.empty() ? "" : "; " + trial.cell,
                     trial.category.empty() ? "" : " (" + trial.category + ")",
                     trial.state == TrialState::kKilled ? "" : ": " + trial.reason);
}

void PrintReport(const Terminal& terminal, const SelfCheckReport& report, const std::string& path) {
  std::ostream& out = *terminal.out;
  const SelfCheckVerdict verdict = Verdict(report);
  size_t killed = 0, pairs = 0;
  for (const Trial& trial : report.trials) {
    pairs += trial.claimed ? 1 : 0;
    // What was only found out at the end was not said on the way.
    if (trial.state == TrialState::kByAnother) out << TrialLine(terminal, trial) << "\n";
  }
  for (const PlantedFault& fault : report.faults)
    killed += report.StateOf(fault.name) == TrialState::kKilled ? 1 : 0;
  for (const std::string& reason : verdict.reasons) out << "  " << reason << "\n";
  const auto tone = verdict.exit == 0   ? Terminal::Tone::kGood
                    : verdict.exit == 3 ? Terminal::Tone::kDoubtful
                                        : Terminal::Tone::kBad;
  out << fmt::format(
      "{}: {} of {} faults killed by every kind that they list ({} pairs, {} control cells) on {} "
      "in {:.1f} s; {}\n",
      terminal.Painted(verdict.word, tone), killed, report.faults.size(), pairs,
      report.control_cells, report.header.hardware_class, report.seconds, path);
}

int Check(const Invocation& invocation, const SelfCheckFlags& flags) {
  fg::KillChildrenOnSignals();
  const Terminal& terminal = invocation.terminal;
  Progress progress(terminal, invocation.json ? terminal.err : terminal.out, flags.run.quiet);
  SelfCheckOptions options;
  auto base =
      MakeRunOptions(invocation, flags.run, [&](const std::string& line) { progress.Note(line); });
  if (!base.ok()) return invocation.Fail(base.status());
  auto faults = invocation.services.faults(base->engine);
  if (!faults.ok()) return invocation.Fail(faults.status());
  options.base = std::move(base).value();
  options.base.on_cell = [&](const CellId& id, const CellResult& result, size_t done,
                             size_t total) { progress.Cell(id, result, done, total); };
  options.faults = std::move(faults).value();
  options.fault_names = flags.faults;
  options.kinds = flags.kinds;
  options.all_kinds = invocation.KindNames();
  options.out = OutFolder(options.base.project, flags.run, "out/selfcheck");
  options.jobs = options.base.jobs;
  options.run = invocation.services.run;
  options.on_trial = [&](const Trial& trial, size_t done, size_t total) {
    progress.Note(fmt::format("[{}/{}] {}", done, total, TrialLine(terminal, trial)));
  };
  const auto report = RunSelfCheck(options);
  progress.End();
  if (!report.ok()) return invocation.Fail(report.status());
  if (invocation.json) {
    *terminal.out << SelfCheckJson(*report).dump(1) << "\n";
  } else {
    PrintReport(terminal, *report, options.out + "/selfcheck.json");
  }
  return Verdict(*report).exit;
}

}  // namespace

void RegisterSelfCheck(CLI::App* app, Invocation* invocation) {
  CLI::App* command = app->add_subcommand(
      "selfcheck", "Plants each fault of the engine and holds that the right kinds turn red");
  auto flags = std::make_shared<SelfCheckFlags>();
  AddCommonOptions(command, invocation);
  AddRunFlags(command, &flags->run);
  command->add_option("--fault", flags->faults, "Only this fault (repeatable)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command->add_option("--kind", flags->kinds, "Only against this kind of evidence (repeatable)")
      ->type_name("KIND")
      ->allow_extra_args(false);
  command
      ->add_option("--out", flags->run.out,
                   "Folder of selfcheck.json and of the bundles; else out/selfcheck")
      ->type_name("DIR");
  command->add_flag("--quiet", flags->run.quiet, "Only the summary");
  command->callback([=] { invocation->action = [=] { return Check(*invocation, *flags); }; });
}

}  // namespace flipgate
