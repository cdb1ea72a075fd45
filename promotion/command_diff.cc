#include "promotion/command_diff.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <ostream>

#include "gates/verify.h"
#include "promotion/bundle_diff.h"

namespace flipgate {
namespace {

using fg::ErrorKind;
using fg::Json;
using fg::Result;
using fg::Status;

struct DiffFlags {
  std::string a, b;
  double percent = 10;
};

// A bundle that is not what it says cannot be compared. One that was cut off can.
Result<Bundle> OpenIntact(const std::string& path) {
  FG_RETURN_IF_ERROR(RequireBundle(path));
  FG_ASSIGN_OR_RETURN(Verification verification, VerifyBundle(path));
  const auto& failures = verification.failures;
  const bool only_cut_off =
      failures.size() == 1 && !verification.bundle.complete && !verification.bundle.rows.empty();
  if (failures.empty() || only_cut_off) return std::move(verification.bundle);
  return Status(
      ErrorKind::kUsage,
      fmt::format("{}: the bundle is damaged: {}{}", path, failures[0],
                  failures.size() == 1 ? ""
                                       : fmt::format(" (and {} more; `flipgate verify` names them)",
                                                     failures.size() - 1)));
}

// Text of a bundle that somebody else may have made: nothing in it moves the cursor.
std::string Plain(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return text;
}

std::string Short(const std::string& text) {
  const std::string plain = Plain(text);
  const bool sum = plain.size() >= 40 && plain.find_first_not_of("0123456789abcdef") == plain.npos;
  return plain.empty() ? "(none)" : sum ? plain.substr(0, 12) : plain;
}

std::string SharePercent(double share) {
  return std::isinf(share) ? "from 0" : fmt::format("{:.1f} %", 100 * share);
}

void PrintCell(const Terminal& terminal, const CellChange& change) {
  const auto tone = change.worse                               ? Terminal::Tone::kBad
                    : change.kind == CellChange::Kind::kBetter ? Terminal::Tone::kGood
                                                               : Terminal::Tone::kDoubtful;
  const std::string outcomes = change.a.empty()   ? change.b
                               : change.b.empty() ? "was " + change.a
                                                  : change.a + " -> " + change.b;
  *terminal.out << fmt::format(
      "{} {}: {}{}\n", terminal.Painted(fmt::format("{:8}", ChangeName(change.kind)), tone),
      Plain(change.cell), outcomes, change.reason.empty() ? "" : ": " + Plain(change.reason));
}

void PrintText(const Terminal& terminal, const DiffFlags& flags, const BundleDiff& diff) {
  std::ostream& out = *terminal.out;
  for (const FieldDifference& field : diff.fields)
    out << fmt::format("differs  {}: {} -> {}\n", field.name, Short(field.a), Short(field.b));
  for (const FieldDifference& verdict : diff.verdicts)
    out << fmt::format("verdict  {}: {} -> {}\n", Plain(verdict.name), verdict.a, verdict.b);
  for (const CellChange& change : diff.cells) PrintCell(terminal, change);
  for (const FigureMove& move : diff.figures) {
    out << fmt::format("moved    {} {}: {:g} -> {:g} ({})\n", Plain(move.cell), Plain(move.figure),
                       move.a, move.b, SharePercent(move.share));
  }
  const std::string word = diff.Worse() ? terminal.Painted("worse", Terminal::Tone::kBad)
                           : diff.SameOutcomes()
                               ? terminal.Painted("same", Terminal::Tone::kGood)
                               : terminal.Painted("no worse", Terminal::Tone::kGood);
  out << fmt::format(
      "{}: {} cells ended the same, {} otherwise; {} figures moved by more than {:g} %\n", word,
      diff.same, diff.cells.size(), diff.figures.size(), flags.percent);
}

Json SideJson(const std::string& path, const Bundle& bundle) {
  return {{"path", path},
          {"verdict", VerdictName(bundle.Verdict().verdict)},
          {"hardware_class", bundle.header.hardware_class},
          {"started", bundle.header.started},
          {"complete", bundle.complete},
          {"counts", bundle.Counts()}};
}

Json ToJson(const DiffFlags& flags, const Bundle& a, const Bundle& b, const BundleDiff& diff) {
  Json json = {{"a", SideJson(flags.a, a)},   {"b", SideJson(flags.b, b)},
               {"worse", diff.Worse()},       {"same_outcomes", diff.SameOutcomes()},
               {"same", diff.same},           {"share", flags.percent / 100},
               {"cells", Json::array()},      {"verdicts", Json::array()},
               {"figures", Json::array()},    {"differs", Json::array()},
               {"exit", diff.Worse() ? 1 : 0}};
  for (const CellChange& change : diff.cells) {
    json["cells"].push_back({{"cell", change.cell},
                             {"change", ChangeName(change.kind)},
                             {"a", change.a},
                             {"b", change.b},
                             {"reason", change.reason},
                             {"worse", change.worse}});
  }
  for (const FieldDifference& verdict : diff.verdicts)
    json["verdicts"].push_back({{"row", verdict.name}, {"a", verdict.a}, {"b", verdict.b}});
  for (const FigureMove& move : diff.figures) {
    // JSON has no infinity: a figure that was 0 has no share.
    json["figures"].push_back({{"cell", move.cell},
                               {"figure", move.figure},
                               {"a", move.a},
                               {"b", move.b},
                               {"share", std::isinf(move.share) ? Json() : Json(move.share)}});
  }
  for (const FieldDifference& field : diff.fields)
    json["differs"].push_back({{"name", field.name}, {"a", field.a}, {"b", field.b}});
  return json;
}

int Diff(const Invocation& invocation, const DiffFlags& flags) {
  const auto a = OpenIntact(flags.a);
  if (!a.ok()) return invocation.Fail(a.status());
  const auto b = OpenIntact(flags.b);
  if (!b.ok()) return invocation.Fail(b.status());
  const BundleDiff diff = DiffBundles(*a, *b, flags.percent / 100);
  if (invocation.json) {
    *invocation.terminal.out << ToJson(flags, *a, *b, diff).dump(1) << "\n";
  } else {
    PrintText(invocation.terminal, flags, diff);
  }
  return diff.Worse() ? 1 : 0;
}

}  // namespace

void RegisterDiff(CLI::App* app, Invocation* invocation) {
  CLI::App* command =
      app->add_subcommand("diff", "Two bundles: what is worse, better or different in B");
  auto flags = std::make_shared<DiffFlags>();
  AddCommonOptions(command, invocation);
  command->add_option("A", flags->a, "The bundle before: folder, archive or bundle.json")
      ->required();
  command->add_option("B", flags->b, "The bundle after")->required();
  command->add_option("--share", flags->percent, "Name figures that moved by more than so many %")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command->callback([=] { invocation->action = [=] { return Diff(*invocation, *flags); }; });
}

}  // namespace flipgate
