#include "gates/speed_claims.h"

#include <gtest/gtest.h>

#include <cmath>

namespace flipgate {
namespace {

PairedProcedure Measured(double ratio, double step = 0.001) {
  PairedProcedure procedure(8);
  for (int i = 0; !procedure.Done(); ++i) procedure.Add(std::log(ratio) + step * (i % 3 - 1));
  return procedure;
}

GateBudget Claiming(const std::string& word) {
  GateBudget budget;
  if (!word.empty()) budget.claims["prefill"] = word;
  return budget;
}

TEST(SpeedClaims, AGateThatClaimsNothingMayNotBeSlower) {
  EXPECT_EQ(JudgeSpeed("prefill", Measured(1.0), {}).outcome, Outcome::kPass);
  EXPECT_EQ(JudgeSpeed("prefill", Measured(1.1), {}).outcome, Outcome::kPass);
  const SpeedFinding slower = JudgeSpeed("decode", Measured(0.9), {});
  EXPECT_EQ(slower.outcome, Outcome::kFail);
  EXPECT_EQ(slower.reason,
            "decode is slower (-10.0 %); a gate that may cost speed says so in may_cost.decode");
}

TEST(SpeedClaims, AClaimMustBeMeasured) {
  EXPECT_EQ(JudgeSpeed("prefill", Measured(1.1), Claiming("faster")).outcome, Outcome::kPass);
  const SpeedFinding flat = JudgeSpeed("prefill", Measured(1.001), Claiming("faster"));
  EXPECT_EQ(flat.outcome, Outcome::kFail);
  EXPECT_EQ(flat.reason, "prefill is flat (+0.1 %), but the gate claims faster");
  EXPECT_EQ(JudgeSpeed("decode", Measured(1.001), Claiming("faster")).outcome, Outcome::kPass);
}

TEST(SpeedClaims, ADeclaredCostIsHeldAgainstTheFigure) {
  GateBudget budget;
  budget.may_cost["prefill"] = {-20, "%", "memory"};
  EXPECT_EQ(JudgeSpeed("prefill", Measured(0.85), budget).outcome, Outcome::kPass);
  EXPECT_EQ(JudgeSpeed("prefill", Measured(0.75), budget).reason,
            "prefill is slower (-25.0 %), more than the -20.0 % that it may cost");
  EXPECT_EQ(JudgeSpeed("decode", Measured(0.85), budget).outcome, Outcome::kFail);
}

TEST(SpeedClaims, UndecidedIsMissingEvidence) {
  const SpeedFinding open = JudgeSpeed("prefill", Measured(1.0, 0.2), Claiming("faster"));
  EXPECT_EQ(open.outcome, Outcome::kSkipped);
  EXPECT_EQ(open.reason.find("prefill: undecided, noise "), 0u);
}

// One model slower and two faster is slower on that one: each model is a cell of its own.
TEST(SpeedClaims, NoMeanOverModelsHidesALoss) {
  EXPECT_EQ(JudgeSpeed("prefill", Measured(0.8), Claiming("faster")).outcome, Outcome::kFail);
  EXPECT_EQ(JudgeSpeed("prefill", Measured(1.1), Claiming("faster")).outcome, Outcome::kPass);
}

}  // namespace
}  // namespace flipgate
