// Planted faults act where docs/faults.md says, and nowhere without FG_FAULT.
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <cstring>

#include "base/testing/temp_dir.h"
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

Environment Full(const std::string& more) {
  return {"FG_MMQ=1",
          "FG_MMQ_RAW=1",
          "FG_MMQ_RAW_NB=1",
          "FG_MMQ_Q6K_NB=1",
          "FG_MMQ_A_FUSE=2",
          "FG_MMQ_A_TRANSPOSE=1",
          more};
}

// The logits of `tokens` in a session of its own, or the error.
std::string Outcome(const std::string& model, const Environment& environment) {
  TestEngine test(model, environment);
  auto session = test.engine->NewSession().value();
  std::vector<float> logits;
  const Status status = session->Forward(RandomTokens(20, 1), 0, {}, &logits);
  return std::string(ErrorKindName(status.kind())) + ": " + status.message();
}

TEST(EngineFaults, ABlindWeightMixMeetsTheBackstop) {
  const std::string f16 = WriteTinyModel(WideSpec(TensorType::kF16));
  const std::string refused =
      "refused: node 2 (matmul blk.0.attn_q.weight): the output of node 1 is asked for, which "
      "FG_MMQ_A_FUSE=2 left unwritten: a dead write";
  EXPECT_EQ(Outcome(Model(), Full("FG_THREADS=1")), "ok: ");
  EXPECT_EQ(Outcome(Model(), Full("FG_FAULT=weight_mix_ignored")), refused);
  EXPECT_EQ(Outcome(Model(), Full("FG_FAULT=weight_mix_blind_to_f16")), "ok: ");
  EXPECT_EQ(Outcome(f16, Full("FG_THREADS=1")), "ok: ");
  EXPECT_EQ(Outcome(f16, Full("FG_FAULT=weight_mix_blind_to_f16")), refused);
}

TEST(EngineFaults, ReadersThatDoNotDegradeAreNotSaid) {
  const std::string model = WriteTinyModel(WideSpec(TensorType::kQ4_K));
  for (const bool faulty : {false, true}) {
    Environment environment = Full(faulty ? "FG_FAULT=dump_reads_skipped" : "FG_THREADS=1");
    environment.push_back("FG_TRACE=" + fg::ProcessTempDir() + "/trace.json");
    TestEngine test(model, environment);
    EXPECT_EQ(test.engine->summary().registered.fuse_mode, faulty ? 2 : 1);
    EXPECT_EQ(test.ledger.counts().degradations.size(), faulty ? 0u : 1u);
  }
}

TEST(EngineFaults, KvOneRowOffShowsWithAReusedGraphAlone) {
  const auto turns = [](const Environment& environment, bool reuse) {
    TestEngine test(Model(), environment);
    auto session = test.engine->NewSession().value();
    std::vector<float> logits;
    for (int turn = 0; turn < 3; ++turn) {
      EXPECT_TRUE(session->Forward(RandomTokens(5, 1), 4, {.reuse_graph = reuse}, &logits).ok());
    }
    return logits;
  };
  const Environment faulty = {"FG_FAULT=kv_row_off"};
  EXPECT_TRUE(SameBits(turns({}, true), turns({}, false)));
  EXPECT_TRUE(SameBits(turns(faulty, false), turns({}, false)));
  EXPECT_FALSE(SameBits(turns(faulty, true), turns({}, true)));
}

TEST(EngineFaults, AGateInTheGraphMovesItsIdentityAndIsRead) {
  const auto counts = [](const std::string& mode, const std::string& fault) {
    TestEngine test(Model(), {"FG_MMQ_A_FUSE=" + mode, fault});
    test.Logits(RandomTokens(5, 1));
    return test.ledger.counts();
  };
  const std::string fault = "FG_FAULT=gate_in_graph";
  EXPECT_EQ(counts("0", "").graph_identities, counts("2", "").graph_identities);
  EXPECT_NE(counts("0", fault).graph_identities, counts("2", fault).graph_identities);
  EXPECT_EQ(counts("2", fault).gate_reads.count({"FG_MMQ_A_FUSE", Phase::kGraph}), 1u);
  EXPECT_EQ(counts("2", "").gate_reads.count({"FG_MMQ_A_FUSE", Phase::kGraph}), 0u);
}

// A forward that goes on over a broken promise ends well, with wrong logits.
TEST(EngineFaults, ABlindBackstopLetsTheBreachThrough) {
  const std::string model = WriteTinyModel(WideSpec(TensorType::kQ4_K));
  const std::vector<int32_t> tokens = RandomTokens(20, 1);
  TestEngine healthy(model, Full("FG_THREADS=1"));
  const std::vector<float> want = healthy.Logits(tokens);
  for (const auto& [fault, violation] : {std::pair{"stale_plane_hit", Violation::kStalePlane},
                                         {"dead_write_read", Violation::kDeadWrite}}) {
    TestEngine test(model, Full(std::string("FG_FAULT=") + fault));
    EXPECT_TRUE(SameBits(test.Logits(tokens), want)) << fault;
    EXPECT_FALSE(SameBits(test.Logits(tokens, 0, {.violation = violation}), want)) << fault;
    EXPECT_TRUE(test.ledger.counts().refusals.empty());
  }
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
