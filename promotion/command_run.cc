#include "promotion/command_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <ostream>
#include <thread>

#include "base/process.h"
#include "gates/archive.h"
#include "gates/waivers.h"
#include "promotion/progress.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;
using fg::ErrorKind;
using fg::Json;
using fg::Result;
using fg::Status;

constexpr std::chrono::minutes kReportLimit{5};

struct RunFlags {
  std::string matrix, out, hardware_class = "cpu", fault, engine, subject = "default";
  std::vector<std::string> cells, without;
  int64_t jobs = 0;  // 0: as many as there are processors
  bool quiet = false;
};

Result<std::vector<std::string>> EngineCommand(const Project& project, const Matrix& matrix,
                                               const RunFlags& flags) {
  if (flags.subject != "default") {
    for (const SubjectSpec& subject : matrix.subjects()) {
      if (subject.name != flags.subject) continue;
      std::vector<std::string> command = subject.command;
      for (std::string& word : command) {
        const size_t at = word.find("{project}");
        if (at != std::string::npos) word.replace(at, 9, project.root);
      }
      return command;
    }
    return Status(ErrorKind::kUsage,
                  fmt::format("--subject {}: the matrix names no such subject", flags.subject));
  }
  const std::string path =
      flags.engine.empty() ? project.Path(project.engine) : fs::absolute(flags.engine).string();
  if (fs::is_regular_file(path)) return std::vector<std::string>{path};
  const std::string advice =
      flags.engine.empty() ? "; build it with scripts/gate, or give --engine PATH" : "";
  return Status(ErrorKind::kUsage,
                fmt::format("{}: there is no such engine{}",
                            flags.engine.empty() ? project.engine : flags.engine, advice));
}

// The CPU's results lie in out/latest/, another class's in out/latest/CLASS/.
std::string OutFolder(const Project& project, const RunFlags& flags) {
  if (!flags.out.empty()) return fs::absolute(flags.out).lexically_normal().string();
  return project.Path(flags.hardware_class == "cpu" ? "out/latest"
                                                    : "out/latest/" + flags.hardware_class);
}

Result<std::string> HashMatrix(const Project& project, const Matrix& matrix,
                               const std::string& hardware_class) {
  return matrix.Hash(hardware_class, [&](const std::string& path) -> Result<std::string> {
    if (fs::is_regular_file(project.Path(path))) return GitBlobId(project.Path(path));
    return Status(ErrorKind::kUsage,
                  path + ": there is no such file, but a model of the matrix is made from it");
  });
}

Result<RunOptions> MakeOptions(const Invocation& invocation, const RunFlags& flags,
                               Progress* progress) {
  RunOptions options;
  FG_ASSIGN_OR_RETURN(options.project, invocation.OpenProject());
  const Project& project = options.project;
  FG_ASSIGN_OR_RETURN(options.matrix, invocation.OpenMatrix(project, flags.matrix));
  options.hardware_class = flags.hardware_class;
  options.selection = {.cells = flags.cells, .without = flags.without};
  FG_RETURN_IF_ERROR(SelectCells(options.matrix, flags.hardware_class, options.selection).status());
  FG_ASSIGN_OR_RETURN(options.waivers, LoadWaivers(project.Path(project.waivers), project.waivers,
                                                   options.matrix, flags.hardware_class));
  FG_ASSIGN_OR_RETURN(options.engine, EngineCommand(project, options.matrix, flags));
  options.subject = flags.subject;
  options.out = OutFolder(project, flags);
  options.fault = flags.fault;
  options.jobs = flags.jobs > 0 ? flags.jobs : std::max(1u, std::thread::hardware_concurrency());
  const auto note = [progress](const std::string& line) { progress->Note(line); };
  auto hashes = invocation.services.hashes(project, flags.hardware_class);
  if (hashes.ok()) {
    options.hashes = *hashes;
  } else {
    note("no hashes of this state: " + hashes.status().message());
  }
  FG_ASSIGN_OR_RETURN(options.hashes.matrix,
                      HashMatrix(project, options.matrix, flags.hardware_class));
  FG_ASSIGN_OR_RETURN(const Snapshot snapshot,
                      invocation.services.snapshot(project, flags.hardware_class, note));
  options.snapshot_program = snapshot.program;
  options.snapshot = snapshot.record;
  options.on_cell = [progress](const CellId& id, const CellResult& result, size_t done,
                               size_t total) { progress->Cell(id, result, done, total); };
  options.on_note = note;
  return options;
}

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
  const auto options = MakeOptions(invocation, flags, &progress);
  if (!options.ok()) return invocation.Fail(options.status());
  const auto summary = invocation.services.run(*options);
  progress.End();
  if (!summary.ok()) return invocation.Fail(summary.status());
  int code = VerdictExitCode(summary->bundle.Verdict().verdict);
  Status after = Report(options->project, options->out);
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
  command->add_option("--matrix", flags->matrix, "Another matrix than the project's")
      ->type_name("FILE");
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
  command->add_option("--class", flags->hardware_class, "Hardware class")
      ->type_name("CLASS")
      ->capture_default_str();
  command->add_option("--subject", flags->subject, "A subject of the matrix")
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option("--fault", flags->fault,
                   "Plant a fault in head's processes (fg-engine faults lists them)")
      ->type_name("NAME");
  command->add_option("--engine", flags->engine, "Head's engine; else the project's")
      ->type_name("PATH");
  command->add_option("--jobs", flags->jobs, "Cells at a time; else one a processor")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  command->add_flag("--quiet", flags->quiet, "Only the verdict");
  command->callback([=] { invocation->action = [=] { return Run(*invocation, *flags); }; });
}

}  // namespace flipgate
