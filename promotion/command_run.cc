#include "promotion/command_run.h"

#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "base/process.h"
#include "gates/archive.h"
#include "promotion/pack_stamp.h"
#include "promotion/progress.h"
#include "promotion/run_setup.h"

namespace flipgate {
namespace {

using fg::ErrorKind;
using fg::Json;
using fg::Result;
using fg::Status;

constexpr std::chrono::minutes kReportLimit{5};

// Renders the page by the project's own command, so that this program knows nothing of how.
Status Report(const Project& project, const std::string& out) {
  if (project.report.empty()) return Status::Ok();
  fg::ProcessSpec spec;
  for (std::string word : project.report) {
    const size_t at = word.find("{out}");
    if (at != std::string::npos) word.replace(at, 5, out);
    spec.argv.push_back(std::move(word));
  }
  spec.environment = fg::PassedEnvironment({"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL"});
  spec.folder = project.root;
  FG_ASSIGN_OR_RETURN(const fg::ProcessOutput run, fg::RunProcess(spec, {.timeout = kReportLimit}));
  if (run.exit.ok() && !run.timed_out) return Status::Ok();
  return Status(ErrorKind::kIo,
                fmt::format("the page was not rendered: {}: {}: {}", spec.argv[0],
                            run.timed_out ? "no end within 5 min" : run.exit.Text(), run.err));
}

Json SummaryJson(const RunSummary& summary, int code) {
  const Judgement judgement = summary.bundle.Verdict();
  Json gates = Json::object();
  for (const std::string& row : summary.bundle.rows)
    gates[row] = VerdictName(summary.bundle.GateVerdict(row).verdict);
  return {{"verdict", VerdictName(judgement.verdict)},
          {"reasons", judgement.reasons},
          {"hardware_class", summary.bundle.header.hardware_class},
          {"counts", summary.bundle.Counts()},
          {"gate_verdicts", gates},
          {"fault", summary.bundle.header.fault},
          {"seconds", summary.bundle.seconds},
          {"bundle", summary.bundle_path},
          {"exit", code}};
}

void PrintSummary(const Terminal& terminal, const RunSummary& summary) {
  std::ostream& out = *terminal.out;
  const Bundle& bundle = summary.bundle;
  const Judgement judgement = bundle.Verdict();
  const auto counts = bundle.Counts();
  const auto tone = judgement.verdict == Verdict::kProven     ? Terminal::Tone::kGood
                    : judgement.verdict == Verdict::kUnproven ? Terminal::Tone::kDoubtful
                                                              : Terminal::Tone::kBad;
  for (const std::string& reason : judgement.reasons) out << "  " << reason << "\n";
  // Of a part of the matrix they say nothing: the evidence that reaches them was left out.
  const bool whole = bundle.header.selection.empty();
  for (const BlindSpot& spot : whole ? bundle.blind_spots : std::vector<BlindSpot>{}) {
    out << fmt::format("  blind spot: no evidence that checks values reached {} {} {}\n",
                       spot.phase, spot.op, spot.label);
  }
  out << fmt::format("{}: {} of {} cells passed on {} in {:.1f} s; {}\n",
                     terminal.Painted(VerdictName(judgement.verdict), tone), counts.at("pass"),
                     counts.at("cells"), bundle.header.hardware_class, bundle.seconds,
                     summary.bundle_path);
}

int Run(const Invocation& invocation, const RunFlags& flags) {
  fg::KillChildrenOnSignals();
  const Terminal& terminal = invocation.terminal;
  Progress progress(terminal, invocation.json ? terminal.err : terminal.out, flags.quiet);
  auto options =
      MakeRunOptions(invocation, flags, [&](const std::string& line) { progress.Note(line); });
  if (!options.ok()) return invocation.Fail(options.status());
  options->out = OutFolder(options->project, flags, "out/latest");
  options->on_cell = [&](const CellId& id, const CellResult& result, size_t done, size_t total) {
    progress.Cell(id, result, done, total);
  };
  const auto summary = invocation.services.run(*options);
  progress.End();
  if (!summary.ok()) return invocation.Fail(summary.status());
  int code = VerdictExitCode(summary->bundle.Verdict().verdict);
  Status after = Report(options->project, options->out);
  const auto stamp = FindPackStamp(options->project.root);
  if (!after.ok() && stamp.ok() && *stamp) {
    *terminal.err << "flipgate: " << after.message() << "; render it where the project is\n";
    after = Status::Ok();
  }
  if (const Status packed = ArchiveFolder(options->out); after.ok()) after = packed;
  if (!after.ok()) {
    *terminal.err << "flipgate: " << after.message() << "\n";
    code = CombinedExitCode({code, kExitError});
  }
  if (invocation.json) {
    *terminal.out << SummaryJson(*summary, code).dump(1) << "\n";
  } else {
    PrintSummary(terminal, *summary);
  }
  return code;
}

}  // namespace

void RegisterRun(CLI::App* app, Invocation* invocation) {
  CLI::App* command =
      app->add_subcommand("run", "Runs the matrix, writes the bundle, says the verdict");
  auto flags = std::make_shared<RunFlags>();
  AddCommonOptions(command, invocation);
  AddRunFlags(command, flags.get());
  command->add_option("--out", flags->out, "Folder of the bundle; else out/latest of the project")
      ->type_name("DIR");
  command
      ->add_option("--cell", flags->cells,
                   "Run only KIND, KIND/GATE or KIND/GATE/MODEL (repeatable)")
      ->type_name("CELL")
      ->allow_extra_args(false);
  command->add_option("--without", flags->without, "Leave a kind out (repeatable)")
      ->type_name("KIND")
      ->allow_extra_args(false);
  command
      ->add_option("--fault", flags->fault,
                   "Plant a fault in head's processes (fg-engine faults lists them)")
      ->type_name("NAME");
  command->add_flag("--quiet", flags->quiet, "Only the verdict");
  command->callback([=] { invocation->action = [=] { return Run(*invocation, *flags); }; });
}

}  // namespace flipgate
