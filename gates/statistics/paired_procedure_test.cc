#include "gates/statistics/paired_procedure.h"

#include <gtest/gtest.h>

#include <cmath>

namespace flipgate {
namespace {

// Feeds value(0), value(1), ... until the procedure is done.
template <typename Value>
PairedProcedure Feed(int cells, const Value& value) {
  PairedProcedure procedure(cells);
  for (int unit = 0; !procedure.Done(); ++unit) procedure.Add(value(unit));
  return procedure;
}

// A spread without chance: `center` with alternating steps.
auto Around(double center, double step) {
  return [=](int unit) { return center + step * ((unit % 4) - 1.5) / 1.5; };
}

TEST(PairedProcedure, TheMarginIsOneAndAHalfPercent) { EXPECT_EQ(kSpeedMargin, std::log(1.015)); }

TEST(PairedProcedure, CallsEachVerdictAtTheFirstLookThatShowsIt) {
  const auto slower = Feed(8, Around(-0.05, 0.01));
  EXPECT_EQ(slower.verdict(), SpeedVerdict::kSlower);
  EXPECT_EQ(slower.values().size(), 16u);
  EXPECT_EQ(slower.reason(), "");
  EXPECT_EQ(Feed(8, Around(0.05, 0.01)).verdict(), SpeedVerdict::kFaster);
  EXPECT_EQ(Feed(8, Around(0.001, 0.005)).verdict(), SpeedVerdict::kFlat);
}

TEST(PairedProcedure, LooksAtSixteenTwentyEightAndFortyOnly) {
  const auto open = Feed(8, Around(-0.0135, 0.012));
  EXPECT_EQ(open.verdict(), SpeedVerdict::kUndecided);
  ASSERT_EQ(open.looks().size(), 3u);
  EXPECT_EQ(open.looks()[0].units, 16);
  EXPECT_EQ(open.looks()[1].units, 28);
  EXPECT_EQ(open.looks()[2].units, 40);
  EXPECT_EQ(open.reason(), "noise 0.9 %, 40 units left it open, needs about 41");
}

// A difference that is certain and smaller than the margin is neither slower nor faster.
TEST(PairedProcedure, ACertainTrifleIsFlat) {
  const auto trifle = Feed(8, Around(-0.005, 0.001));
  EXPECT_EQ(trifle.verdict(), SpeedVerdict::kFlat);
  ASSERT_EQ(trifle.looks().size(), 1u);
  EXPECT_LT(trifle.looks()[0].slower.high, 0);
}

TEST(PairedProcedure, AHopelessSpreadEndsAfterEightUnits) {
  const auto noisy = Feed(8, Around(0, 0.1));
  EXPECT_EQ(noisy.verdict(), SpeedVerdict::kUndecided);
  EXPECT_EQ(noisy.values().size(), 8u);
  EXPECT_TRUE(noisy.looks().empty());
  EXPECT_EQ(noisy.reason(), "noise 8.3 %, needs about 285 units");
}

TEST(PairedProcedure, MoreCellsAskForMoreOfSlower) {
  const auto few = Feed(1, Around(-0.03, 0.02)), many = Feed(400, Around(-0.03, 0.02));
  ASSERT_FALSE(few.looks().empty());
  ASSERT_FALSE(many.looks().empty());
  EXPECT_LT(few.looks()[0].slower.high, many.looks()[0].slower.high);
  EXPECT_EQ(few.looks()[0].faster.high, many.looks()[0].faster.high);
  EXPECT_EQ(few.looks()[0].flat.high, many.looks()[0].flat.high);
}

// 16 units cannot bear the confidence that ten thousand cells ask for; more can.
TEST(PairedProcedure, WithoutAnIntervalNothingIsSlower) {
  const auto many = Feed(10000, Around(-0.05, 0.001));
  EXPECT_EQ(many.verdict(), SpeedVerdict::kSlower);
  EXPECT_EQ(many.values().size(), 28u);
}

}  // namespace
}  // namespace flipgate
