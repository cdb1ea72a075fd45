#include "engine/probe/bench.h"

#include <gtest/gtest.h>

#include "engine/probe/fake_engine.h"

namespace fg {
namespace {

TEST(Bench, PrefillWarmsUpOnceAndRunsFromTheStartEachTime) {
  FakeEngine engine({.context = 64});
  const auto series = BenchPrefill(engine, 20, 3);
  ASSERT_TRUE(series.ok()) << series.status().message();
  EXPECT_EQ(series->tokens, 20);
  ASSERT_EQ(series->seconds.size(), 3u);
  EXPECT_EQ(series->TokensPerSecond().size(), 3u);
  // Rows, wanted rows and start of each forward.
  const std::vector<FakeForward> expected(4, {0, 20, 1});
  EXPECT_EQ(engine.log().forwards, expected);
  EXPECT_EQ(engine.log().logit_rows, 0);
}

TEST(Bench, DecodeFillsTheContextOnceAndCutsBackToIt) {
  FakeEngine engine({.context = 64});
  const auto series = BenchDecode(engine, 2, 10, 2);
  ASSERT_TRUE(series.ok()) << series.status().message();
  EXPECT_EQ(series->tokens, 2);
  EXPECT_EQ(series->seconds.size(), 2u);
  const std::vector<FakeForward> expected = {{0, 10, 0}, {10, 1, 1}, {11, 1, 1}, {10, 1, 1},
                                             {11, 1, 1}, {10, 1, 1}, {11, 1, 1}};
  EXPECT_EQ(engine.log().forwards, expected);
  EXPECT_EQ(engine.log().logit_rows, 0);
}

TEST(Bench, PrefillBehindAContextFillsItOnce) {
  FakeEngine engine({.context = 64});
  const auto series = BenchPrefill(engine, 20, 2, 8);
  ASSERT_TRUE(series.ok()) << series.status().message();
  const std::vector<FakeForward> expected = {{0, 8, 0}, {8, 20, 1}, {8, 20, 1}, {8, 20, 1}};
  EXPECT_EQ(engine.log().forwards, expected);
  EXPECT_EQ(BenchPrefill(engine, 57, 1, 8).status().message(),
            "57 tokens after 8 do not fit the context of 64 positions");
}

TEST(Bench, WhatDoesNotFitIsRefusedBeforeAnythingRuns) {
  FakeEngine engine({.context = 64});
  EXPECT_EQ(BenchPrefill(engine, 65, 1).status().message(),
            "65 tokens after 0 do not fit the context of 64 positions");
  EXPECT_EQ(BenchDecode(engine, 5, 60, 1).status().message(),
            "5 tokens after 60 do not fit the context of 64 positions");
  EXPECT_EQ(BenchDecode(engine, INT64_MAX, 60, 1).status().kind(), ErrorKind::kBadRequest);
  EXPECT_EQ(BenchDecode(engine, 1, INT64_MAX, 1).status().kind(), ErrorKind::kBadRequest);
  EXPECT_TRUE(engine.log().forwards.empty());
}

TEST(Bench, RatesAreTokensOverSeconds) {
  const BenchSeries series = {10, {2.0, 0.5}};
  EXPECT_EQ(series.TokensPerSecond(), (std::vector<double>{5, 20}));
}

TEST(Bench, MedianIsTheMiddle) {
  EXPECT_EQ(Median({3}), 3);
  EXPECT_EQ(Median({9, 1, 5}), 5);
  EXPECT_EQ(Median({4, 1, 3, 2}), 2.5);
}

}  // namespace
}  // namespace fg
