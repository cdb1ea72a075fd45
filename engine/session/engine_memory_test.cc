// What an engine takes, books and gives back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "engine/session/engine.h"
#include "engine/session/engine_testing.h"

namespace fg {
namespace {

using namespace testing;  // NOLINT: the helpers of engine_testing.h

uint64_t Now(const TestEngine& test, MemoryCategory category) {
  return test.engine->memory().entry(category).now;
}

TEST(EngineMemory, TheF16CacheHoldsWhatTheF16PathServes) {
  // In pages: q4_K 9 weights of w16, q6_K 2 of [256, 128].
  const uint64_t q6_k = 2 * (256 * 128 * 2);
  const uint64_t q4_k = 2 * (256 * 256 * 2 + 256 * 128 * 2 + 256 * 256 * 2) + 3 * (256 * 512 * 2);
  TestEngine f16(MixedModel(), {}), mmq(MixedModel(), kNibble),
      rows(MixedModel(), {"FG_PREFILL_GEMM=0"}),
      leaked(MixedModel(), With(kNibble, "FG_FAULT=cache_leaked"));
  EXPECT_EQ(Now(f16, MemoryCategory::kF16Cache), q4_k + q6_k);
  EXPECT_EQ(Now(mmq, MemoryCategory::kF16Cache), q6_k);
  EXPECT_EQ(Now(rows, MemoryCategory::kF16Cache), 0u);
  EXPECT_EQ(Now(leaked, MemoryCategory::kF16Cache), q4_k + q6_k);
  EXPECT_EQ(Now(mmq, MemoryCategory::kPlanes), 0u);
  const auto file = ReadFile(MixedModel());
  EXPECT_EQ(Now(mmq, MemoryCategory::kWeights), file->size());
  EXPECT_TRUE(mmq.engine->memory().entry(MemoryCategory::kWeights).file_backed);
}

TEST(EngineMemory, SessionsAndGraphsGiveTheirMemoryBack) {
  TestEngine test(NarrowModel(), {});
  EXPECT_EQ(Now(test, MemoryCategory::kKv), 0u);
  {
    auto session = test.engine->NewSession();
    const uint64_t one = Now(test, MemoryCategory::kKv);
    EXPECT_EQ(one, 2u * 2 * 96 * 32 * 2);  // k and v, 2 layers, 96 positions, 2 heads of 16, f16
    auto another = test.engine->NewSession();
    EXPECT_EQ(Now(test, MemoryCategory::kKv), 2 * one);
  }
  EXPECT_EQ(Now(test, MemoryCategory::kKv), 0u);
  test.Logits(RandomTokens(30, 1));
  EXPECT_GT(Now(test, MemoryCategory::kGraph), 0u);
  test.engine->DropGraphs();
  EXPECT_EQ(Now(test, MemoryCategory::kGraph), 0u);
}

TEST(EngineMemory, AForwardTakesNoMoreScratchThanTheLoadTook) {
  for (const Environment& environment : {Environment{}, kNibble}) {
    TestEngine test(MixedModel(), environment);
    const uint64_t scratch = Now(test, MemoryCategory::kScratch);
    for (const size_t rows : {96, 95, 50, 16, 15, 2, 1}) {
      for (const size_t first : {size_t{0}, rows - 1, rows})
        test.Logits(RandomTokens(rows, 1), first);
    }
    EXPECT_EQ(test.engine->memory().entry(MemoryCategory::kScratch).peak, scratch);
  }
}

TEST(EngineMemory, WhatIsBookedIsWhatTheSystemSees) {
  TinyModelSpec spec = WideSpec(TensorType::kQ4_0);
  spec.context = 16384;
  const std::string path = WriteTinyModel(spec);
  const auto anonymous = [] { return ReadSystemMemory().value().anonymous; };
  const uint64_t before = anonymous();
  TestEngine test(path, {"FG_MMQ=1"});
  auto session = test.engine->NewSession();
  uint64_t booked = 0;
  for (const MemoryCategory category : {MemoryCategory::kF16Cache, MemoryCategory::kKv,
                                        MemoryCategory::kScratch, MemoryCategory::kGraph}) {
    booked += Now(test, category);
  }
  const double seen = static_cast<double>(anonymous() - before);
  ASSERT_GT(booked, uint64_t{16} << 20);
  EXPECT_NEAR(seen / static_cast<double>(booked), 1.0, 0.05);
}

TEST(EngineMemory, AContextBeyondTheMachineIsRefusedBeforeAnythingIsTaken) {
  TinyModelSpec spec;
  spec.shape.kv_heads = 4;
  spec.shape.head_dim = 4096;
  spec.context = 1 << 24;
  const std::string path = WriteTinyModel(spec);
  Ledger ledger;
  const Gates gates = GatesOf({}, &ledger);
  const auto engine = Engine::Load(path, {}, Device(), gates, &ledger);
  EXPECT_EQ(engine.status().kind(), ErrorKind::kOutOfMemory);
  EXPECT_THAT(engine.status().message(),
              ::testing::MatchesRegex(".*: a context of 16777216 positions takes 147456 bytes a "
                                      "position, more than this machine's [0-9]+ MiB; load with a "
                                      "smaller context"));
  EXPECT_TRUE(Engine::Load(path, {.context = 64}, Device(), gates, &ledger).ok());
}

}  // namespace
}  // namespace fg
