#include "gates/statistics/simulation.h"

#include <gtest/gtest.h>

#include <cmath>

namespace flipgate {
namespace {

constexpr int kTrials = 400;
constexpr int kCells = 8;

// Fewer trials than docs/statistics.md shows: three standard errors beside the claim.
TEST(Simulation, TheClaimsHold) {
  ASSERT_EQ(SimulatedClaims().size(), 16u);
  for (const SimulatedClaim& claim : SimulatedClaims()) {
    const OutcomeShares shares = SimulateProcedure(claim.model, kCells, kTrials, 3);
    EXPECT_EQ(shares.slower + shares.faster + shares.flat + shares.undecided, kTrials);
    const double slack = 3 * std::sqrt(claim.at_most * (1 - claim.at_most) / kTrials);
    EXPECT_LE(shares.Share(claim.Count(shares)), claim.at_most + slack) << claim.model.name;
  }
}

// The same noises without the quads' order would be called: the simulator does plant them.
TEST(Simulation, AnEffectIsFoundAndItsSignKept) {
  const auto slower = SimulateProcedure({.effect = -0.05, .unit_noise = 0.01}, kCells, 50, 5);
  EXPECT_EQ(slower.slower, 50);
  const auto faster = SimulateProcedure({.effect = 0.05, .unit_noise = 0.01}, kCells, 50, 5);
  EXPECT_EQ(faster.faster, 50);
}

TEST(Simulation, ASeedGivesOneSeries) {
  const NoiseModel model = {.unit_noise = 0.02, .shape = NoiseShape::kHeavyTails, .ar1 = 0.5};
  UnitSimulator one(model, 11), same(model, 11), other(model, 12);
  const double first = one.NextUnit();
  EXPECT_EQ(first, same.NextUnit());
  EXPECT_NE(first, other.NextUnit());
}

// Shapes differ in their tails and not in their spread.
TEST(Simulation, EachShapeHasTheSpreadThatItSays) {
  for (const NoiseShape shape :
       {NoiseShape::kNormal, NoiseShape::kHeavyTails, NoiseShape::kBimodal}) {
    UnitSimulator simulator({.unit_noise = 0.02, .shape = shape, .run_noise = 0}, 17);
    double squares = 0;
    constexpr int kUnits = 20000;
    for (int unit = 0; unit < kUnits; ++unit) squares += std::pow(simulator.NextUnit(), 2);
    EXPECT_NEAR(std::sqrt(squares / kUnits), 0.02, 0.003) << static_cast<int>(shape);
  }
}

}  // namespace
}  // namespace flipgate
