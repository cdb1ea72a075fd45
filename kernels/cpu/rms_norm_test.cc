#include "kernels/cpu/rms_norm.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/cpu/float_testing.h"
#include "kernels/cpu/rms_norm_reference.h"

namespace fg {
namespace {

constexpr float kEps = 1e-6f;
constexpr int64_t kWidths[] = {1, 7, 8, 9, 15, 16, 17, 24, 25, 31, 33, 64, 256, 1000, 1024, 4097};

void ExpectAllAgree(int64_t n, uint32_t seed) {
  const std::vector<float> x = SeededValues(seed).Floats(n, 5.0f);
  const std::vector<float> w = SeededValues(seed + 1).Floats(n, 2.0f);
  std::vector<float> contract(x.size());
  RmsNormContract(x.data(), w.data(), n, kEps, contract.data());
  const RmsNormExactResult exact = RmsNormExact(x.data(), w.data(), n, kEps);
  for (const CpuLevel level : SupportedCpuLevels()) {
    GuardedBuffer<float> y(n);
    RmsNorm(level, x.data(), n, w.data(), 1, n, kEps, y.data(), n);
    EXPECT_EQ(FirstDifference(contract, y.values()), "") << CpuLevelName(level) << " n " << n;
    EXPECT_EQ(FirstOutside(exact.y, exact.bound, y.values()), "") << CpuLevelName(level);
    EXPECT_TRUE(y.GuardsIntact()) << CpuLevelName(level) << " n " << n;
  }
}

// The root and the quotient hide most differences of one bit in the sum, so one row a width is not
// enough to tell an order of additions from another.
TEST(RmsNorm, EveryLevelGivesTheContractsBitsNearTheExactValue) {
  for (const int64_t n : kWidths) {
    for (uint32_t seed = 0; seed < 20; ++seed) ExpectAllAgree(n, seed);
  }
}

TEST(RmsNorm, RowsKeepTheirStrides) {
  constexpr int64_t kRows = 5, kN = 37, kLdx = 41, kLdy = 50;
  const std::vector<float> x = SeededValues(1).Floats(kRows * kLdx);
  const std::vector<float> w = SeededValues(2).Floats(kN);
  for (const CpuLevel level : SupportedCpuLevels()) {
    GuardedBuffer<float> y(kRows * kLdy);
    RmsNorm(level, x.data(), kLdx, w.data(), kRows, kN, kEps, y.data(), kLdy);
    for (int64_t r = 0; r < kRows; ++r) {
      std::vector<float> contract(kN);
      RmsNormContract(x.data() + r * kLdx, w.data(), kN, kEps, contract.data());
      EXPECT_EQ(FirstDifference(contract, y.values().subspan(r * kLdy, kN)), "");
      for (int64_t i = kN; i < kLdy; ++i) EXPECT_TRUE(y.Untouched(r * kLdy + i));
    }
    EXPECT_TRUE(y.GuardsIntact());
  }
}

TEST(RmsNorm, ANaNSpoilsItsRowAlone) {
  std::vector<float> x = SeededValues(1).Floats(2 * 20);
  x[3] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> w(20, 1.0f);
  for (const CpuLevel level : SupportedCpuLevels()) {
    std::vector<float> y(40);
    RmsNorm(level, x.data(), 20, w.data(), 2, 20, kEps, y.data(), 20);
    for (int i = 0; i < 20; ++i) EXPECT_NE(y[i], y[i]);
    for (int i = 20; i < 40; ++i) EXPECT_EQ(y[i], y[i]);
  }
}

TEST(RmsNorm, ARowOfZerosStaysZero) {
  const std::vector<float> x(33, 0.0f), w(33, 1.5f);
  for (const CpuLevel level : SupportedCpuLevels()) {
    std::vector<float> y(33, 1.0f);
    RmsNorm(level, x.data(), 33, w.data(), 1, 33, kEps, y.data(), 33);
    EXPECT_EQ(FirstDifference(x, y), "") << CpuLevelName(level);
  }
}

}  // namespace
}  // namespace fg
