#include "promotion/command_cell_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "gates/cells.h"
#include "gates/verify.h"

namespace flipgate {
namespace {

struct CellStatusOptions {
  std::string bundle, cell;
};

struct Answer {
  std::string word, reason;
  int code = 1;
};

// 0 pass, 77 skipped, unsupported or waived, 1 all else: what has no result is no pass and no skip.
Answer CellAnswer(const Bundle& bundle, const CellId& id) {
  const BundleCell* cell = bundle.Find(id);
  if (cell == nullptr) {
    const bool pending =
        std::find(bundle.pending.begin(), bundle.pending.end(), id) != bundle.pending.end();
    return {"no result",
            pending ? "the run was cut off before it ended" : "the bundle has no such cell", 1};
  }
  const std::string word = OutcomeName(cell->outcome);
  switch (cell->outcome) {
    case Outcome::kPass:
      return {word, "", 0};
    case Outcome::kSkipped:
    case Outcome::kUnsupported:
      return {word, cell->reason, kExitSkip};
    case Outcome::kFail:
    case Outcome::kFlaky:
      if (bundle.Waived(*cell)) return {word + " (waived)", cell->reason, kExitSkip};
      return {word, cell->reason, 1};
    case Outcome::kError:
      return {word, cell->reason, 1};
  }
  return {word, cell->reason, 1};
}

// A verdict's own exit code: unproven is no green, and no skip either.
Answer VerdictAnswer(const Bundle& bundle) {
  const Judgement judgement = bundle.Verdict();
  return {VerdictName(judgement.verdict), fmt::format("{}", fmt::join(judgement.reasons, "; ")),
          VerdictExitCode(judgement.verdict)};
}

// A bundle whose outcomes were edited is no proof: what reads as proven is held against itself.
Answer ProvenByIntact(const std::string& path, Answer answer) {
  if (answer.code != 0) return answer;
  const auto verification = VerifyBundle(path);
  if (!verification.ok()) return {"damaged", verification.status().message(), 1};
  if (verification->failures.empty()) return answer;
  return {"damaged", verification->failures.front(), 1};
}

int CellStatus(const Invocation& invocation, const CellStatusOptions& options) {
  const auto bundle = LoadBundle(options.bundle);
  if (!bundle.ok()) return invocation.Fail(bundle.status());
  std::string name = "verdict/" + bundle->header.hardware_class;
  Answer answer;
  if (options.cell.empty()) {
    answer = ProvenByIntact(options.bundle, VerdictAnswer(*bundle));
  } else {
    const auto id = ParseCellId(options.cell);
    if (!id.ok()) return invocation.Fail(id.status());
    name = options.cell;
    answer = CellAnswer(*bundle, *id);
  }
  if (invocation.json) {
    const fg::Json json = {
        {"cell", name}, {"status", answer.word}, {"reason", answer.reason}, {"exit", answer.code}};
    *invocation.terminal.out << json.dump(1) << "\n";
  } else {
    *invocation.terminal.out << fmt::format("{}: {}{}{}\n", name, answer.word,
                                            answer.reason.empty() ? "" : ": ", answer.reason);
  }
  return answer.code;
}

}  // namespace

void RegisterCellStatus(CLI::App* app, Invocation* invocation) {
  CLI::App* command = app->add_subcommand(
      "cell-status", "One cell's outcome, or the verdict, as an exit code (for CTest)");
  auto options = std::make_shared<CellStatusOptions>();
  AddCommonOptions(command, invocation);
  command->add_option("--bundle", options->bundle, "The bundle's folder or bundle.json")
      ->required()
      ->type_name("PATH");
  command->add_option("CELL", options->cell, "KIND/GATE/MODEL; left out: the verdict");
  command->callback(
      [=] { invocation->action = [=] { return CellStatus(*invocation, *options); }; });
}

}  // namespace flipgate
