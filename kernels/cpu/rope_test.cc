#include "kernels/cpu/rope.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/float_testing.h"
#include "kernels/cpu/rope_reference.h"

namespace fg {
namespace {

TEST(RopeTable, HoldsTheRoundedAngles) {
  const RopeTable table = MakeRopeTable(5, 8, 10000.0);
  EXPECT_EQ(table.positions, 5);
  EXPECT_EQ(table.pairs, 4);
  ASSERT_EQ(table.cosine.size(), 20u);
  ASSERT_EQ(table.sine.size(), 20u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(table.cosine[i], 1.0f);
    EXPECT_EQ(table.sine[i], 0.0f);
  }
  // Position 3: the angles are 3, 0.3, 0.03, 0.003.
  EXPECT_EQ(table.cosine[3 * 4 + 0], static_cast<float>(std::cos(3.0)));
  EXPECT_FLOAT_EQ(table.sine[3 * 4 + 1], 0.29552021f);
  EXPECT_FLOAT_EQ(table.cosine[3 * 4 + 2], 0.99955003f);
  EXPECT_FLOAT_EQ(table.sine[3 * 4 + 3], 0.0029999955f);
}

struct Shape {
  int64_t heads, head_dim, dims;
};

class RopeShapes : public testing::TestWithParam<Shape> {};

TEST_P(RopeShapes, EveryLevelGivesTheContractsBitsNearTheExactValue) {
  const auto [heads, head_dim, dims] = GetParam();
  constexpr double kBase = 1000000.0;
  const int32_t positions[] = {0, 1, 7, 299, 40};
  const int64_t ldx = heads * head_dim + 3;
  const RopeTable table = MakeRopeTable(300, dims, kBase);
  const std::vector<float> x = SeededValues(9).Floats(5 * ldx, 4.0f);
  std::vector<float> contract = x;
  std::vector<double> exact(x.begin(), x.end()), bound(x.size(), 0.0);
  for (int64_t r = 0; r < 5; ++r) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t i = 0; i < dims / 2; ++i) {
        const size_t at0 = static_cast<size_t>(r * ldx + h * head_dim + i);
        const size_t at1 = at0 + static_cast<size_t>(dims / 2);
        const RotatedPair rounded = RopeContract(x[at0], x[at1], positions[r], i, dims, kBase);
        contract[at0] = static_cast<float>(rounded.x0);
        contract[at1] = static_cast<float>(rounded.x1);
        const RotatedPair pair = RopeExact(x[at0], x[at1], positions[r], i, dims, kBase);
        exact[at0] = pair.x0;
        exact[at1] = pair.x1;
        bound[at0] = bound[at1] = 3 * 0x1p-24 * (std::abs(x[at0]) + std::abs(x[at1]));
      }
    }
  }
  for (const CpuLevel level : SupportedCpuLevels()) {
    GuardedBuffer<float> y(5 * ldx);
    std::copy(x.begin(), x.end(), y.data());
    Rope(level, y.data(), ldx, 5, heads, head_dim, positions, table);
    EXPECT_EQ(FirstDifference(contract, y.values()), "") << CpuLevelName(level);
    EXPECT_EQ(FirstOutside(exact, bound, y.values()), "") << CpuLevelName(level);
    EXPECT_TRUE(y.GuardsIntact());
  }
}

// The last two leave values behind the rotated ones as they are.
INSTANTIATE_TEST_SUITE_P(All, RopeShapes,
                         testing::Values(Shape{4, 64, 64}, Shape{2, 32, 32}, Shape{1, 128, 128},
                                         Shape{6, 80, 80}, Shape{3, 20, 20}, Shape{2, 2, 2},
                                         Shape{2, 64, 32}, Shape{3, 21, 14}));

}  // namespace
}  // namespace fg
