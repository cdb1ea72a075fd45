#include "gates/statistics/signed_rank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/file.h"
#include "base/json.h"

namespace flipgate {
namespace {

// Every sign pattern in turn.
std::vector<uint64_t> CountedPatterns(int n) {
  std::vector<uint64_t> counts(static_cast<size_t>(n) * (n + 1) / 2 + 1, 0);
  for (uint32_t pattern = 0; pattern < (1u << n); ++pattern) {
    size_t sum = 0;
    for (int rank = 1; rank <= n; ++rank) sum += (pattern >> (rank - 1) & 1) != 0 ? rank : 0;
    ++counts[sum];
  }
  return counts;
}

TEST(SignedRank, CountsAreThoseOfEveryPattern) {
  for (const int n : {0, 1, 2, 3, 7, 12}) EXPECT_EQ(SignedRankCounts(n), CountedPatterns(n)) << n;
}

TEST(SignedRank, CountsOfTheLargestSampleAddUp) {
  const auto counts = SignedRankCounts(kMostSignedRankValues);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), uint64_t{0}),
            uint64_t{1} << kMostSignedRankValues);
}

TEST(SignedRank, EqualsAnIndependentImplementation) {
  const auto text =
      fg::ReadFile(std::string(FG_SOURCE_DIR) + "/gates/statistics/signed_rank_vectors.json");
  ASSERT_TRUE(text.ok()) << text.status().message();
  const fg::Json vectors = fg::Json::parse(*text);
  ASSERT_EQ(vectors.size(), 10u);
  int intervals = 0;
  for (const fg::Json& vector : vectors) {
    const std::vector<double> values = vector["values"];
    EXPECT_NEAR(HodgesLehmann(values), vector["estimate"].get<double>(), 1e-9) << vector["name"];
    for (const fg::Json& wanted : vector["intervals"]) {
      const auto found = SignedRankInterval(values, wanted["confidence"]);
      ASSERT_EQ(found.has_value(), !wanted["ends"].is_null()) << vector["name"] << wanted;
      if (!found) continue;
      ++intervals;
      EXPECT_NEAR(found->low, wanted["ends"][0].get<double>(), 1e-9) << vector["name"] << wanted;
      EXPECT_NEAR(found->high, wanted["ends"][1].get<double>(), 1e-9) << vector["name"] << wanted;
    }
  }
  EXPECT_GT(intervals, 30);
}

TEST(SignedRank, OrderAndShiftDoNotMatter) {
  std::vector<double> values = {0.5, -0.25, 2.0, 0.125, -1.0, 4.0, 0.75};
  const auto before = SignedRankInterval(values, 0.9);
  std::reverse(values.begin(), values.end());
  for (double& value : values) value += 8;
  const auto after = SignedRankInterval(values, 0.9);
  ASSERT_TRUE(before && after);
  EXPECT_EQ(after->low, before->low + 8);
  EXPECT_EQ(after->high, before->high + 8);
}

TEST(SignedRank, TooFewValuesGiveNoInterval) {
  const std::vector<double> five = {1, 2, 3, 4, 5};
  EXPECT_FALSE(SignedRankInterval(five, 0.99).has_value());  // 2/32 is the smallest tail
  EXPECT_TRUE(SignedRankInterval(five, 0.93).has_value());
  EXPECT_FALSE(SignedRankInterval({}, 0.5).has_value());
}

TEST(SignedRank, AnIntervalHoldsItsEstimateEvenAtALowConfidence) {
  const std::vector<double> values = {3, 1, 2};
  for (const double confidence : {0.01, 0.1, 0.5}) {
    const auto interval = SignedRankInterval(values, confidence);
    ASSERT_TRUE(interval.has_value());
    EXPECT_LE(interval->low, HodgesLehmann(values));
    EXPECT_GE(interval->high, HodgesLehmann(values));
  }
}

}  // namespace
}  // namespace flipgate
