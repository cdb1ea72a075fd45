// Planted faults act where docs/faults.md says, and nowhere without FG_FAULT.
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <cstring>

#include "engine/session/engine.h"
#include "engine/testing/test_engine.h"
#include "engine/testing/tiny_model.h"

namespace fg {
namespace {

using testing::RandomTokens;
using testing::TestEngine;
using testing::WideSpec;
using testing::WriteTinyModel;
using Environment = std::vector<std::string>;

const std::string& Model() {
  static const std::string path = WriteTinyModel(WideSpec(TensorType::kQ4_0));
  return path;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return !a.empty() && a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * 4) == 0;
}

TEST(EngineFaults, NanLogitsMarkPrefillStepsOnly) {
  TestEngine test(Model(), {"FG_FAULT=nan_logits"});
  const std::vector<float> prefill = test.Logits(RandomTokens(17, 1), 15);
  EXPECT_TRUE(std::isnan(prefill[0]));
  EXPECT_TRUE(std::isnan(prefill[261]));
  EXPECT_FALSE(std::isnan(prefill[1]));
  EXPECT_FALSE(std::isnan(test.Logits(RandomTokens(15, 1))[0]));
}

TEST(EngineFaults, ADefaultThatMovesMoreMovesPrefillOnEveryPath) {
  const std::vector<int32_t> tokens = RandomTokens(20, 1);
  const std::string fault = "FG_FAULT=default_moves_more";
  TestEngine faulty(Model(), {fault}), healthy(Model(), {}), given(Model(), {fault, "FG_MMQ=1"}),
      healthy_given(Model(), {"FG_MMQ=1"});
  EXPECT_FALSE(SameBits(faulty.Logits(tokens), healthy.Logits(tokens)));
  EXPECT_TRUE(SameBits(given.Logits(tokens), healthy_given.Logits(tokens)));
  const ForwardOptions rows = {.rows_per_forward = 1};
  EXPECT_TRUE(SameBits(faulty.Logits(tokens, 0, rows), healthy.Logits(tokens, 0, rows)));
}

TEST(EngineFaults, AGateReadInDecodeIsCounted) {
  TestEngine test(Model(), {"FG_FAULT=gate_read_in_decode"});
  test.ledger.Take();
  test.Logits(RandomTokens(1, 1));
  const std::map<std::pair<std::string, Phase>, uint64_t> reads = {
      {{"FG_MMQ", Phase::kDecode}, 15}};
  EXPECT_EQ(test.ledger.counts().gate_reads, reads);
}

TEST(EngineFaults, UnbookedMemoryIsTouchedAndNotBooked) {
  const auto booked = [](const TestEngine& test) {
    uint64_t sum = 0;
    for (int category = 0; category < kMemoryCategories; ++category) {
      sum += test.engine->memory().entry(static_cast<MemoryCategory>(category)).peak;
    }
    return sum;
  };
  TestEngine healthy(Model(), {});
  const uint64_t before = ReadSystemMemory().value().anonymous;
  TestEngine faulty(Model(), {"FG_FAULT=unbooked_memory"});
  EXPECT_EQ(booked(faulty), booked(healthy));
  EXPECT_GT(ReadSystemMemory().value().anonymous, before + (uint64_t{64} << 20));
}

TEST(EngineFaultsDeathTest, ACrashComesInTheThirdForward) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const std::vector<int32_t> tokens = RandomTokens(3, 1);
  TestEngine test(Model(), {"FG_FAULT=crash"});
  auto session = test.engine->NewSession().value();
  std::vector<float> logits;
  ASSERT_TRUE(session->Forward(tokens, 3, {}, &logits).ok());
  ASSERT_TRUE(session->Forward(tokens, 3, {}, &logits).ok());
  EXPECT_EXIT((void)session->Forward(tokens, 3, {}, &logits), ::testing::KilledBySignal(SIGSEGV),
              "");
}

}  // namespace
}  // namespace fg
