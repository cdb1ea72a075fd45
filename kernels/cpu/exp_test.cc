#include "kernels/cpu/exp.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/float_testing.h"

namespace fg {
namespace {

using exp_constants::kMax;
using exp_constants::kMin;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Every 1009th bit pattern of f32, a prime, so that all exponents, signs, NaN and infinities occur.
std::vector<float> SampleOfAllFloats() {
  std::vector<float> sample;
  for (uint64_t bits = 0; bits <= 0xFFFFFFFFu; bits += 1009) {
    sample.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  return sample;
}

// The distance of y from the exact value in units of the last place of an f32 there.
double UlpsOff(float y, double exact) {
  const int exponent = std::max(std::ilogb(exact), -126);
  return std::abs(static_cast<double>(y) - exact) / std::ldexp(1.0, exponent - 23);
}

TEST(Exp, WithinOneUlpOfTheExactValue) {
  double worst = 0.0;
  int64_t compared = 0;
  for (const float x : SampleOfAllFloats()) {
    if (!(x >= kMin && x <= kMax)) continue;
    const double off = UlpsOff(ExpF32(x), std::exp(static_cast<double>(x)));
    ASSERT_LE(off, 1.0) << std::hexfloat << x;
    worst = std::max(worst, off);
    ++compared;
  }
  EXPECT_GT(compared, 2'000'000);
  RecordProperty("worst_ulps", std::to_string(worst));
}

// The range that softmax and swiglu use, more densely than the bit patterns fall there.
TEST(Exp, WithinOneUlpOverTheWholeRange) {
  double worst = 0.0;
  for (double x = kMin; x <= kMax; x += 0.00013) {
    const float rounded = static_cast<float>(x);
    const double off = UlpsOff(ExpF32(rounded), std::exp(static_cast<double>(rounded)));
    ASSERT_LE(off, 1.0) << std::hexfloat << rounded;
    worst = std::max(worst, off);
  }
  EXPECT_GT(worst, 0.4);  // no f32 is nearer than half a unit on so many
  RecordProperty("worst_ulps", std::to_string(worst));
}

TEST(Exp, Edges) {
  EXPECT_EQ(std::bit_cast<uint32_t>(ExpF32(kNaN)), 0x7FC00000u);
  EXPECT_EQ(std::bit_cast<uint32_t>(ExpF32(std::bit_cast<float>(0xFFA12345u))), 0x7FC00000u);
  EXPECT_EQ(ExpF32(kInfinity), kInfinity);
  EXPECT_EQ(std::bit_cast<uint32_t>(ExpF32(-kInfinity)), 0u);
  EXPECT_EQ(ExpF32(0.0f), 1.0f);
  EXPECT_EQ(ExpF32(-0.0f), 1.0f);
  EXPECT_EQ(ExpF32(0x1p-149f), 1.0f);
  EXPECT_EQ(ExpF32(-0x1p-149f), 1.0f);
  EXPECT_EQ(ExpF32(-87.0f), 0x1.666d0ep-126f);
}

// kMax is the last argument whose result is an f32, kMin the last whose result is not below 2^-126.
TEST(Exp, TheRangeEndsWhereItMust) {
  const double largest = static_cast<double>(std::numeric_limits<float>::max());
  const float above = std::nextafter(kMax, kInfinity);
  EXPECT_LT(std::exp(static_cast<double>(kMax)), largest);
  EXPECT_GT(std::exp(static_cast<double>(above)), largest);
  EXPECT_LT(ExpF32(kMax), kInfinity);
  EXPECT_EQ(ExpF32(above), kInfinity);

  const float below = std::nextafter(kMin, -kInfinity);
  EXPECT_GE(std::exp(static_cast<double>(kMin)), 0x1p-126);
  EXPECT_LT(std::exp(static_cast<double>(below)), 0x1p-126);
  EXPECT_GE(ExpF32(kMin), 0x1p-126f);
  EXPECT_EQ(std::bit_cast<uint32_t>(ExpF32(below)), 0u);
}

TEST(Exp, EveryLevelGivesTheDefinitionsBits) {
  std::vector<float> sample = SampleOfAllFloats();
  for (const float edge : {kMin, kMax, 0.0f, -0.0f, kInfinity, -kInfinity, kNaN}) {
    sample.push_back(edge);
    sample.push_back(std::nextafter(edge, kInfinity));
    sample.push_back(std::nextafter(edge, -kInfinity));
  }
  std::vector<float> expected;
  for (const float x : sample) expected.push_back(ExpF32(x));
  for (const CpuLevel level : SupportedCpuLevels()) {
    std::vector<float> y(sample.size());
    ExpRow(level, sample.data(), static_cast<int64_t>(sample.size()), 0.0f, y.data());
    EXPECT_EQ(FirstDifference(expected, y), "") << CpuLevelName(level);
  }
}

TEST(Exp, RowsOfEveryLengthShiftedInPlace) {
  for (const CpuLevel level : SupportedCpuLevels()) {
    for (int64_t n = 1; n <= 40; ++n) {
      const std::vector<float> x = SeededValues(static_cast<uint32_t>(n)).Floats(n, 20.0f);
      GuardedBuffer<float> y(n);
      std::vector<float> expected;
      for (int64_t i = 0; i < n; ++i) {
        y.data()[i] = x[static_cast<size_t>(i)];
        expected.push_back(ExpF32(x[static_cast<size_t>(i)] - 3.5f));
      }
      ExpRow(level, y.data(), n, 3.5f, y.data());
      EXPECT_EQ(FirstDifference(expected, y.values()), "") << CpuLevelName(level) << " n " << n;
      EXPECT_TRUE(y.GuardsIntact()) << CpuLevelName(level) << " n " << n;
    }
  }
}

}  // namespace
}  // namespace fg
