#include "gates/verdict.h"

#include <gtest/gtest.h>

#include "gates/evidence.h"

namespace flipgate {
namespace {

constexpr const char* kToday = "2026-11-30";

JudgedCell Cell(const std::string& gate, std::optional<Outcome> outcome) {
  return {{"parity", gate, "m"}, outcome};
}

Waiver WaiverFor(const std::string& gate, const std::string& expires) {
  return {.cell = {"parity", gate, "m"},
          .hardware_class = "cpu",
          .issue = "#7",
          .owner = "ann",
          .reason = "known",
          .expires = expires};
}

Judgement Of(const std::vector<JudgedCell>& cells, const std::vector<Waiver>& waivers = {},
             const std::string& fault = "") {
  return Judge(cells, waivers, kToday, fault);
}

using Reasons = std::vector<std::string>;

TEST(Judge, AllPassedIsProven) {
  const Judgement judgement = Of({Cell("A", Outcome::kPass), Cell("B", Outcome::kPass)});
  EXPECT_EQ(judgement.verdict, Verdict::kProven);
  EXPECT_EQ(judgement.reasons, Reasons{});
}

TEST(Judge, TheWorstKindOfOutcomeDecides) {
  const auto with = [](Outcome outcome) {
    return Of({Cell("A", Outcome::kPass), Cell("B", outcome)}).verdict;
  };
  EXPECT_EQ(with(Outcome::kFail), Verdict::kRefuted);
  EXPECT_EQ(with(Outcome::kFlaky), Verdict::kRefuted);
  EXPECT_EQ(with(Outcome::kError), Verdict::kError);
  EXPECT_EQ(with(Outcome::kSkipped), Verdict::kUnproven);
  EXPECT_EQ(with(Outcome::kUnsupported), Verdict::kUnproven);
  EXPECT_EQ(Of({Cell("A", Outcome::kSkipped), Cell("B", Outcome::kError)}).verdict,
            Verdict::kError);
  EXPECT_EQ(Of({Cell("A", Outcome::kError), Cell("B", Outcome::kFlaky)}).verdict,
            Verdict::kRefuted);
}

TEST(Judge, NothingIsNoProof) {
  EXPECT_EQ(Of({}).verdict, Verdict::kUnproven);
  EXPECT_EQ(Of({}).reasons, Reasons{"no cell is in scope"});
  const Judgement pending = Of({Cell("A", Outcome::kPass), Cell("B", std::nullopt)});
  EXPECT_EQ(pending.verdict, Verdict::kUnproven);
  EXPECT_EQ(pending.reasons, Reasons{"1 cell without a result: parity/B/m"});
}

TEST(Judge, GivesEachCauseMostSevereFirst) {
  const Judgement judgement = Of({Cell("A", Outcome::kSkipped), Cell("B", Outcome::kError),
                                  Cell("C", Outcome::kFail), Cell("D", Outcome::kFail)});
  EXPECT_EQ(judgement.reasons,
            (Reasons{"2 cells failed: parity/C/m, parity/D/m",
                     "1 cell ended in an error: parity/B/m", "1 cell skipped: parity/A/m"}));
  std::vector<JudgedCell> many(7, Cell("A", Outcome::kSkipped));
  EXPECT_EQ(Of(many).reasons,
            Reasons{"7 cells skipped: parity/A/m, parity/A/m, parity/A/m, parity/A/m, "
                    "parity/A/m and 2 more"});
}

TEST(Judge, AFaultIsNeverAProof) {
  const Judgement judgement = Of({Cell("A", Outcome::kPass)}, {}, "nibbles_swapped");
  EXPECT_EQ(judgement.verdict, Verdict::kUnproven);
  EXPECT_EQ(judgement.reasons,
            Reasons{"made with the fault 'nibbles_swapped', which is never a proof"});
  EXPECT_EQ(Of({Cell("A", Outcome::kFail)}, {}, "nibbles_swapped").verdict, Verdict::kRefuted);
}

TEST(Judge, AWaiverKeepsAFailureFromRefutingButProvesNothing) {
  const std::vector<JudgedCell> cells = {Cell("A", Outcome::kFail), Cell("B", Outcome::kPass)};
  const Judgement judgement = Of(cells, {WaiverFor("A", "2026-12-01")});
  EXPECT_EQ(judgement.verdict, Verdict::kUnproven);
  EXPECT_EQ(judgement.reasons, Reasons{"1 cell failed under a waiver: parity/A/m"});
  // Another cell's waiver does not help, and no waiver covers an error.
  EXPECT_EQ(Of(cells, {WaiverFor("B", "2026-12-01")}).verdict, Verdict::kRefuted);
  EXPECT_EQ(Of({Cell("A", Outcome::kError)}, {WaiverFor("A", "2026-12-01")}).verdict,
            Verdict::kError);
}

TEST(Judge, AnExpiredWaiverIsRed) {
  for (const Outcome outcome : {Outcome::kFail, Outcome::kPass}) {
    const Judgement judgement = Of({Cell("A", outcome)}, {WaiverFor("A", "2026-11-30")});
    EXPECT_EQ(judgement.verdict, Verdict::kRefuted);
    EXPECT_EQ(judgement.reasons.back(),
              "1 cell with a waiver that has expired: parity/A/m (on 2026-11-30, #7, ann)");
  }
}

TEST(Verdict, ExitCodesAndNames) {
  EXPECT_EQ(VerdictExitCode(Verdict::kProven), 0);
  EXPECT_EQ(VerdictExitCode(Verdict::kRefuted), 1);
  EXPECT_EQ(VerdictExitCode(Verdict::kUnproven), 3);
  EXPECT_EQ(VerdictExitCode(Verdict::kError), 4);
  EXPECT_STREQ(VerdictName(Verdict::kUnproven), "unproven");
  EXPECT_EQ(CombinedExitCode({0, 3, 4, 1, 2}), 2);
  EXPECT_EQ(CombinedExitCode({0, 3, 4, 1}), 1);
  EXPECT_EQ(CombinedExitCode({0, 3, 4}), 4);
  EXPECT_EQ(CombinedExitCode({0, 3}), 3);
  EXPECT_EQ(CombinedExitCode({0, 0}), 0);
  EXPECT_EQ(CombinedExitCode({}), 3);
}

TEST(Outcome, NamesGoBothWays) {
  for (const char* name : {"pass", "fail", "flaky", "unsupported", "skipped", "error"}) {
    ASSERT_TRUE(OutcomeOfName(name).has_value()) << name;
    EXPECT_STREQ(OutcomeName(*OutcomeOfName(name)), name);
  }
  EXPECT_FALSE(OutcomeOfName("passed").has_value());
  EXPECT_EQ(CellResult::Fail("label", "no label").category, "label");
  EXPECT_EQ(CellResult::Skipped("why").outcome, Outcome::kSkipped);
}

}  // namespace
}  // namespace flipgate
