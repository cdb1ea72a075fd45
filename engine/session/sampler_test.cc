#include "engine/session/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fg {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Sampler, ExpAgreesWithLibm) {
  for (double x = 0; x > -690; x = x * 1.01 - 0.0137) {
    EXPECT_NEAR(ExpF64(x) / std::exp(x), 1.0, 1e-15) << x;
  }
  EXPECT_EQ(ExpF64(0), 1.0);
  EXPECT_EQ(ExpF64(-701), 0.0);
  EXPECT_EQ(ExpF64(-std::numeric_limits<double>::infinity()), 0.0);
}

// The published first outputs of splitmix64 from seed 1234567.
TEST(Sampler, SplitMix64IsTheKnownGenerator) {
  SplitMix64 random(1234567);
  EXPECT_EQ(random.Next(), 6457827717110365317u);
  EXPECT_EQ(random.Next(), 3203168211198807973u);
  EXPECT_EQ(random.Next(), 9817491932198370423u);
  SplitMix64 unit(1);
  for (int i = 0; i < 1000; ++i) {
    const double value = unit.NextUnit();
    EXPECT_TRUE(value >= 0 && value < 1);
  }
}

TEST(Sampler, GreedyTakesTheLowestIdOfTheHighest) {
  EXPECT_EQ(Greedy(std::vector<float>{1, 5, 5, 2}), 1);
  EXPECT_EQ(Greedy(std::vector<float>{kNan, -3, kNan, -2}), 3);
  EXPECT_EQ(Greedy(std::vector<float>{-kInfinity, -kInfinity}), 0);
  EXPECT_EQ(Greedy(std::vector<float>{kNan, kNan}), std::nullopt);
}

TEST(Sampler, HighestDescendsAndBreaksTiesById) {
  const std::vector<float> logits = {1, 5, kNan, 5, 7, -1};
  const std::vector<std::pair<int32_t, float>> three = {{4, 7}, {1, 5}, {3, 5}};
  EXPECT_EQ(Highest(logits, 3), three);
  EXPECT_EQ(Highest(logits, 64).size(), 5u);
  EXPECT_TRUE(Highest(logits, 0).empty());
}

// How often each of four tokens comes out of evenly spaced draws.
std::vector<int> Histogram(const std::vector<float>& logits, const SamplingOptions& options) {
  std::vector<int> count(logits.size());
  for (int i = 0; i < 1000; ++i) {
    const auto token = Sample(logits, options, (i + 0.5) / 1000);
    EXPECT_TRUE(token.ok());
    if (token.ok()) ++count[static_cast<size_t>(*token)];
  }
  return count;
}

// Probabilities 0.4, 0.1, 0.3, 0.2.
const std::vector<float> kLogits = {std::log(4.0f), std::log(1.0f), std::log(3.0f), std::log(2.0f)};

TEST(Sampler, FollowsTheDistribution) {
  EXPECT_EQ(Histogram(kLogits, {.temperature = 1}), (std::vector<int>{400, 100, 300, 200}));
  // Half the temperature squares the odds: 16, 1, 9, 4 of 30.
  EXPECT_EQ(Histogram(kLogits, {.temperature = 0.5}), (std::vector<int>{533, 34, 300, 133}));
}

TEST(Sampler, TopKAndTopPCutTheTail) {
  EXPECT_EQ(Histogram(kLogits, {.temperature = 1, .top_k = 1}), (std::vector<int>{1000, 0, 0, 0}));
  EXPECT_EQ(Histogram(kLogits, {.temperature = 1, .top_k = 2}), (std::vector<int>{571, 0, 429, 0}));
  // 0.4 and 0.3 hold 0.7; 0.75 needs the third as well.
  EXPECT_EQ(Histogram(kLogits, {.temperature = 1, .top_p = 0.69}),
            (std::vector<int>{571, 0, 429, 0}));
  EXPECT_EQ(Histogram(kLogits, {.temperature = 1, .top_p = 0.75})[1], 0);
  EXPECT_GT(Histogram(kLogits, {.temperature = 1, .top_p = 0.75})[3], 0);
  EXPECT_EQ(Histogram(kLogits, {.temperature = 1, .top_p = 1e-9}),
            (std::vector<int>{1000, 0, 0, 0}));
  // top_p counts what top_k left: of 4/7 and 3/7 the first holds 0.55.
  EXPECT_EQ(Histogram(kLogits, {.temperature = 1, .top_k = 2, .top_p = 0.55}),
            (std::vector<int>{1000, 0, 0, 0}));
}

TEST(Sampler, TheLastDrawTakesACandidateThatHasWeight) {
  const std::vector<float> logits = {0, -5000, 0, -5000};
  EXPECT_EQ(Sample(logits, {.temperature = 1}, 1 - 0x1p-53).value(), 2);
  EXPECT_EQ(Sample(logits, {.temperature = 1}, 0).value(), 0);
}

TEST(Sampler, RefusesLogitsThatAreNoDistribution) {
  const auto message = [](std::vector<float> logits) {
    const auto token = Sample(logits, {.temperature = 1}, 0.5);
    EXPECT_EQ(token.status().kind(), ErrorKind::kInternal);
    return token.status().message();
  };
  EXPECT_EQ(message({1, kNan}), "the logits hold NaN or infinity; nothing can be sampled");
  EXPECT_EQ(message({1, kInfinity}), "the logits hold NaN or infinity; nothing can be sampled");
  EXPECT_EQ(message({-kInfinity, -kInfinity}), "all logits are -infinity; nothing can be sampled");
  EXPECT_EQ(Sample(std::vector<float>{-kInfinity, 1}, {.temperature = 1}, 0.5).value(), 1);
}

TEST(Sampler, RefusesOptionsByName) {
  const auto message = [](const SamplingOptions& options) {
    const Status status = CheckSampling(options);
    EXPECT_EQ(status.kind(), ErrorKind::kBadRequest);
    return status.message();
  };
  EXPECT_EQ(message({.temperature = -1}),
            "temperature is -1.000000; expected a finite number, 0 or more");
  EXPECT_EQ(message({.temperature = std::nan("")}),
            "temperature is nan; expected a finite number, 0 or more");
  EXPECT_EQ(message({.top_k = -1}), "top_k is -1.000000; expected 0 for all, or more");
  EXPECT_EQ(message({.top_p = 0}), "top_p is 0.000000; expected a number above 0, up to 1");
  EXPECT_EQ(message({.top_p = 1.5}), "top_p is 1.500000; expected a number above 0, up to 1");
  EXPECT_TRUE(CheckSampling({}).ok());
}

}  // namespace
}  // namespace fg
