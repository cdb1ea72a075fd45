#include "engine/readers/value_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace fg {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(ValueStatistics, AreOverTheFiniteValues) {
  const std::vector<float> values = {3, kNan, -1, kInf, 4, -kInf, kNan};
  const ValueStatistics of = StatisticsOf(values);
  EXPECT_EQ(of.count, 7);
  EXPECT_EQ(of.nan, 2);
  EXPECT_EQ(of.infinite, 2);
  EXPECT_EQ(of.min, -1);
  EXPECT_EQ(of.max, 4);
  EXPECT_EQ(of.mean, 2);
}

TEST(ValueStatistics, OfNothingFiniteAreNone) {
  for (const std::vector<float>& values :
       {std::vector<float>{}, std::vector<float>{kNan}, std::vector<float>{kInf, kNan}}) {
    const ValueStatistics of = StatisticsOf(values);
    EXPECT_EQ(of.count, static_cast<int64_t>(values.size()));
    EXPECT_TRUE(std::isnan(of.min) && std::isnan(of.max) && std::isnan(of.mean));
  }
}

TEST(ValueStatistics, ASumOfManyLargeValuesStaysFinite) {
  const std::vector<float> values(1000, 3e38f);
  EXPECT_EQ(StatisticsOf(values).mean, static_cast<double>(3e38f));
}

}  // namespace
}  // namespace fg
