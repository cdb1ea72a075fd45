#include "promotion/command_compare.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>

#include "base/file.h"
#include "gates/speed_samples.h"
#include "gates/statistics/paired_procedure.h"

namespace flipgate {
namespace {

using fg::ErrorKind;
using fg::Json;
using fg::Result;
using fg::Status;

struct Options {
  std::string a, b;
  int cells = 0;
  bool seconds = false;
};

double Percent(double logarithm) { return 100 * std::expm1(logarithm); }

// Units as they stand in the files, until the procedure has seen enough.
PairedProcedure Judge(const SpeedPair& pair, int cells) {
  PairedProcedure procedure(cells);
  for (const double unit : pair.units) {
    if (procedure.Done()) break;
    procedure.Add(unit);
  }
  return procedure;
}

std::string Reason(const PairedProcedure& procedure) {
  if (procedure.Done()) return procedure.reason();
  return fmt::format("{} units are there, the next look is at {}", procedure.values().size(),
                     procedure.NextLook());
}

Json ToJson(const SpeedPair& pair, const PairedProcedure& procedure) {
  Json looks = Json::array();
  const auto ends = [](const Interval& interval) { return Json{interval.low, interval.high}; };
  for (const SpeedLook& look : procedure.looks()) {
    looks.push_back({{"units", look.units},
                     {"estimate", look.estimate},
                     {"slower", ends(look.slower)},
                     {"faster", ends(look.faster)},
                     {"flat", ends(look.flat)},
                     {"verdict", SpeedVerdictName(look.verdict)}});
  }
  return {{"name", pair.name},
          {"verdict", SpeedVerdictName(procedure.verdict())},
          {"reason", Reason(procedure)},
          {"median_a", pair.median_a},
          {"median_b", pair.median_b},
          {"one_process", pair.one_process},
          {"units", pair.units},
          {"used", procedure.values().size()},
          {"looks", looks}};
}

std::string Painted(const Terminal& terminal, SpeedVerdict verdict) {
  const auto tone = verdict == SpeedVerdict::kSlower      ? Terminal::Tone::kBad
                    : verdict == SpeedVerdict::kUndecided ? Terminal::Tone::kDoubtful
                                                          : Terminal::Tone::kGood;
  return terminal.Painted(SpeedVerdictName(verdict), tone);
}

void PrintText(const Terminal& terminal, const SpeedPair& pair, const PairedProcedure& procedure) {
  *terminal.out << fmt::format("{}: B is {}", pair.name, Painted(terminal, procedure.verdict()));
  if (!procedure.looks().empty()) {
    const SpeedLook& look = procedure.looks().back();
    const Interval& shown = look.verdict == SpeedVerdict::kSlower   ? look.slower
                            : look.verdict == SpeedVerdict::kFaster ? look.faster
                                                                    : look.flat;
    *terminal.out << fmt::format(", {:+.2f} % [{:+.2f}, {:+.2f}] over {} units",
                                 Percent(look.estimate), Percent(shown.low), Percent(shown.high),
                                 look.units);
  }
  const std::string reason = Reason(procedure);
  *terminal.out << (reason.empty() ? "" : " (" + reason + ")")
                << fmt::format("; medians {:.6g} and {:.6g}\n", pair.median_a, pair.median_b);
  if (pair.one_process) {
    *terminal.out << "  note: repetitions inside one process; the words speak of these two "
                     "processes, not of the two programs (docs/statistics.md)\n";
  }
}

Result<std::string> Read(const std::string& path) {
  if (!std::filesystem::exists(path)) {
    return Status(ErrorKind::kUsage, path + ": there is no such file");
  }
  return fg::ReadFile(path);
}

Result<std::vector<SpeedPair>> ReadPairs(const Options& options) {
  FG_ASSIGN_OR_RETURN(const std::string a_text, Read(options.a));
  FG_ASSIGN_OR_RETURN(const std::string b_text, Read(options.b));
  // Equal to the last digit is a copy, not a measurement.
  if (a_text == b_text) {
    return Status(ErrorKind::kUsage, fmt::format("{} and {} hold the same bytes: nothing is "
                                                 "compared with itself",
                                                 options.a, options.b));
  }
  FG_ASSIGN_OR_RETURN(const auto a, ReadSpeedSamples(a_text, options.a, options.seconds));
  FG_ASSIGN_OR_RETURN(const auto b, ReadSpeedSamples(b_text, options.b, options.seconds));
  return PairSpeedSamples(a, options.a, b, options.b);
}

int Compare(const Invocation& invocation, const Options& options) {
  const auto pairs = ReadPairs(options);
  if (!pairs.ok()) return invocation.Fail(pairs.status());
  const int cells = options.cells > 0 ? options.cells : static_cast<int>(pairs->size());
  std::vector<int> codes;
  Json all = Json::array();
  for (const SpeedPair& pair : *pairs) {
    const PairedProcedure procedure = Judge(pair, cells);
    codes.push_back(procedure.verdict() == SpeedVerdict::kSlower      ? 1
                    : procedure.verdict() == SpeedVerdict::kUndecided ? 3
                                                                      : 0);
    if (invocation.json) {
      all.push_back(ToJson(pair, procedure));
    } else {
      PrintText(invocation.terminal, pair, procedure);
    }
  }
  if (invocation.json) {
    *invocation.terminal.out << Json{{"cells", cells}, {"pairs", all}}.dump(1) << "\n";
  }
  return CombinedExitCode(codes);
}

}  // namespace

void RegisterCompare(CLI::App* app, Invocation* invocation) {
  CLI::App* command = app->add_subcommand(
      "compare", "Whether B is slower, faster or flat against A, from measured numbers");
  auto options = std::make_shared<Options>();
  AddCommonOptions(command, invocation);
  command
      ->add_option("A", options->a,
                   "Numbers, one a line (larger is faster), or llama-bench's JSON or JSONL")
      ->required();
  command->add_option("B", options->b, "The same of the other program, in the same order")
      ->required();
  command
      ->add_option("--cells", options->cells,
                   "Comparisons that share the level of 'slower'; else those of the files")
      ->check(CLI::Range(1, 100000));
  command->add_flag("--seconds", options->seconds, "The numbers are times: smaller is faster");
  command->footer("Exit codes: 0 flat or faster, 1 slower, 2 usage, 3 undecided.");
  command->callback([=] { invocation->action = [=] { return Compare(*invocation, *options); }; });
}

}  // namespace flipgate
