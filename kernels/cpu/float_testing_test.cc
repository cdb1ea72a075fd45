#include "kernels/cpu/float_testing.h"

#include <gtest/gtest.h>

#include <limits>

namespace fg {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(FloatTesting, DifferenceOfBits) {
  const std::vector<float> a = {1.0f, kNaN, -0.0f};
  EXPECT_EQ(FirstDifference(a, a), "");
  EXPECT_EQ(FirstDifference(a, std::vector<float>{1.0f, -kNaN, -0.0f}), "");
  EXPECT_EQ(FirstDifference(a, std::vector<float>{1.0f, kNaN, 0.0f}),
            "[2]: -0x0p+0 expected, got 0x0p+0");
  EXPECT_EQ(FirstDifference(a, std::vector<float>{1.0f, 2.0f, -0.0f}),
            "[1]: nan expected, got 0x1p+1");
  EXPECT_EQ(FirstDifference(a, std::vector<float>{1.0f}), "3 values expected, 1 compared");
  EXPECT_EQ(FirstDifference({}, {}), "0 values expected, 0 compared");
}

TEST(FloatTesting, OutsideABound) {
  const std::vector<double> expected = {1.0, 2.0};
  const std::vector<double> bound = {0.5, 0.0};
  EXPECT_EQ(FirstOutside(expected, bound, std::vector<float>{1.5f, 2.0f}), "");
  EXPECT_EQ(FirstOutside(expected, bound, std::vector<float>{1.75f, 2.0f}),
            "[0]: 1 expected within 0.5, got 1.75");
  EXPECT_EQ(FirstOutside(expected, bound, std::vector<float>{1.0f, kNaN}),
            "[1]: 2 expected within 0, got nan");
  EXPECT_EQ(FirstOutside(expected, std::vector<double>{kInfinity, 0.0},
                         std::vector<float>{kInfinity, 2.0f}),
            "[0]: 1 expected within inf, got inf");
  EXPECT_EQ(FirstOutside({}, {}, {}), "0 values and 0 bounds expected, 0 compared");
}

TEST(FloatTesting, GuardsNoticeAWrite) {
  GuardedBuffer<float> buffer(3);
  buffer.data()[2] = 1.0f;
  EXPECT_TRUE(buffer.GuardsIntact());
  EXPECT_TRUE(buffer.Untouched(1));
  EXPECT_FALSE(buffer.Untouched(2));
  buffer.data()[3] = 1.0f;
  EXPECT_FALSE(buffer.GuardsIntact());
  GuardedBuffer<uint16_t> before(3);
  before.data()[-1] = 0;
  EXPECT_FALSE(before.GuardsIntact());
}

}  // namespace
}  // namespace fg
