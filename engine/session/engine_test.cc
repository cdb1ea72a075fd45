// What an engine promises of its logits, labels and reads, over gates, levels, threads,
// graph reuse and the way tokens are fed.
#include "engine/session/engine.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/sha256.h"
#include "engine/session/engine_testing.h"

namespace fg {
namespace {

using namespace testing;  // NOLINT: the helpers of engine_testing.h

TEST(Engine, SameBitsGatesLevelsAndThreadsMoveNoBit) {
  const std::vector<int32_t> tokens = RandomTokens(37, 5);
  TestEngine base(MixedModel(), With(kNibble, "FG_CPU_LEVEL=plain"));
  const std::vector<float> want = base.Logits(tokens);
  ASSERT_TRUE(AllFinite(want));
  std::vector<Environment> others = {
      {"FG_MMQ=1"}, {"FG_MMQ=1", "FG_MMQ_RAW=1"}, {"FG_MMQ=1", "FG_MMQ_RAW_NB=1"}, kNibble};
  for (const CpuLevel level : SupportedCpuLevels()) {
    for (const Environment& gates : others) {
      TestEngine test(MixedModel(),
                      With(gates, std::string("FG_CPU_LEVEL=") + CpuLevelName(level)));
      EXPECT_TRUE(SameBits(test.Logits(tokens), want)) << CpuLevelName(level) << gates.size();
    }
  }
  for (const char* threads : {"FG_THREADS=2", "FG_THREADS=3"}) {
    TestEngine test(MixedModel(), With(kNibble, threads));
    EXPECT_TRUE(SameBits(test.Logits(tokens), want)) << threads;
  }
}

TEST(Engine, TheF16PathIsAnotherPathAndKeepsItsBits) {
  const std::vector<int32_t> tokens = RandomTokens(37, 5);
  TestEngine mmq(MixedModel(), kNibble), f16(MixedModel(), {});
  const std::vector<float> want = f16.Logits(tokens);
  EXPECT_FALSE(SameBits(mmq.Logits(tokens), want));
  EXPECT_LT(LargestDifference(mmq.Logits(tokens), want), 0.4);
  for (const char* more : {"FG_CPU_LEVEL=plain", "FG_THREADS=2", "FG_THREADS=3", "FG_MMQ_RAW=1"}) {
    TestEngine test(MixedModel(), {more});
    EXPECT_TRUE(SameBits(test.Logits(tokens), want)) << more;
  }
}

TEST(Engine, ForcedRowsEqualTheInt8GemmToTheBit) {
  TinyModelSpec spec = WideSpec(TensorType::kQ4_K);
  const std::string path = WriteTinyModel(spec);
  const std::vector<int32_t> tokens = RandomTokens(20, 5);
  TestEngine mmq(path, kNibble), rows(path, With(kNibble, "FG_PREFILL_GEMM=0"));
  EXPECT_TRUE(SameBits(mmq.Logits(tokens), rows.Logits(tokens)));
  EXPECT_TRUE(SameBits(mmq.Logits(tokens), mmq.Logits(tokens, 0, {.rows_per_forward = 1})));
}

TEST(Engine, GraphReuseMovesNoBit) {
  TestEngine test(MixedModel(), kNibble);
  const std::vector<int32_t> tokens = RandomTokens(50, 6);
  std::vector<float> logits[2];
  for (const bool reuse : {false, true}) {
    auto session = test.engine->NewSession();
    ASSERT_TRUE(session.ok());
    const ForwardOptions options = {.rows_per_forward = 18, .reuse_graph = reuse};
    for (const auto& [from, count] :
         {std::pair<size_t, size_t>{0, 40}, {40, 1}, {41, 1}, {42, 8}}) {
      const auto piece = std::span(tokens).subspan(from, count);
      ASSERT_TRUE((*session)->Forward(piece, 0, options, &logits[reuse]).ok());
    }
  }
  EXPECT_TRUE(SameBits(logits[0], logits[1]));
  // 18 + 18 + 4, 1, 1 and 8 rows, each wanted whole: four topologies. Built anew, 6; then 4 built,
  // 2 reused.
  EXPECT_EQ(test.ledger.counts().graphs_built, 10u);
  EXPECT_EQ(test.ledger.counts().graphs_reused, 2u);
  EXPECT_EQ(test.ledger.counts().graph_identities.size(), 4u);
}

TEST(Engine, SplitsAgree) {
  TestEngine test(NarrowModel(), {});
  const std::vector<int32_t> tokens = RandomTokens(40, 7);
  const std::vector<float> at_once = test.Logits(tokens);
  // f32 weights: the GEMM sums in another order than the one-row kernels.
  for (const int64_t rows : {1, 15, 16, 17, 39}) {
    EXPECT_LT(LargestDifference(test.Logits(tokens, 0, {.rows_per_forward = rows}), at_once), 2e-3)
        << rows;
  }
  EXPECT_TRUE(SameBits(test.Logits(tokens, 0, {.rows_per_forward = 40}), at_once));
  EXPECT_TRUE(SameBits(test.Logits(tokens, 0, {.rows_per_forward = 4096}), at_once));
}

TEST(Engine, ATokensLogitsDoNotDependOnHowManyAreWanted) {
  for (const Environment& environment : {Environment{}, kNibble}) {
    TestEngine test(MixedModel(), environment);
    const std::vector<int32_t> tokens = RandomTokens(48, 8);
    const std::vector<float> all = test.Logits(tokens);
    const size_t vocabulary = all.size() / tokens.size();
    ASSERT_EQ(vocabulary, 261u);
    for (const size_t first : {1, 31, 32, 33, 46, 47}) {
      const std::vector<float> tail(all.begin() + static_cast<std::ptrdiff_t>(first * vocabulary),
                                    all.end());
      EXPECT_TRUE(SameBits(test.Logits(tokens, first), tail)) << first;
    }
    EXPECT_TRUE(test.Logits(tokens, 48).empty());
  }
}

TEST(Engine, LogitsAreAppended) {
  TestEngine test(NarrowModel(), {});
  auto session = test.engine->NewSession();
  std::vector<float> logits = {1.0f, 2.0f};
  ASSERT_TRUE((*session)->Forward(RandomTokens(20, 1), 18, {.rows_per_forward = 19}, &logits).ok());
  EXPECT_EQ(logits.size(), 2u + 2 * 261);
  EXPECT_EQ(logits[0], 1.0f);
  EXPECT_EQ((*session)->position(), 20);
}

using Dispatch = std::map<Ledger::DispatchKey, uint64_t>;

TEST(Engine, CountsEveryLabel) {
  TestEngine test(MixedModel(), kNibble);
  test.ledger.Take();
  test.Logits(RandomTokens(20, 9), 4);  // 16 wanted: a slice of 15 and one of 1
  const Phase p = Phase::kPrefill;
  const Dispatch prefill = {
      {{p, "embed", "embed.q4_K"}, 1},     {{p, "rms_norm", "rms_norm"}, 3 + 2 * 2},
      {{p, "matmul", "mmq.q4_K.nb"}, 9},  // 7 * 2 - 3, less two attn_v
      {{p, "matmul", "gemm.f16.q6_K"}, 2}, {{p, "matmul", "row.q4_K"}, 3 * 2},
      {{p, "matmul", "row.q6_K"}, 1 * 2},  {{p, "rope", "rope"}, 4},
      {{p, "kv_store", "kv_store"}, 2},    {{p, "attention", "attention"}, 2},
      {{p, "add", "add"}, 3 + 2},          {{p, "swiglu", "swiglu"}, 1 + 2},
      {{p, "gather", "gather"}, 2},        {{p, "prepass", "prepass.rows"}, 6 + 2 * 3},
      {{p, "prepass", "prepass.f16"}, 2},
  };
  EXPECT_EQ(test.ledger.counts().dispatch, prefill);
  EXPECT_EQ(test.ledger.counts().forwards[static_cast<int>(p)], 1u);
  // 11 wide matmuls ask FG_MMQ; those of q4_K and q6_K go on as the table does. Three norms and a
  // swiglu ask for their mode.
  const std::map<std::pair<std::string, Phase>, uint64_t> reads = {
      {{"FG_MMQ", p}, 11},       {{"FG_MMQ_RAW", p}, 9},
      {{"FG_MMQ_RAW_NB", p}, 9}, {{"FG_MMQ_A_TRANSPOSE", p}, 9},
      {{"FG_MMQ_Q6K_NB", p}, 2}, {{"FG_MMQ_A_FUSE", p}, 4}};
  EXPECT_EQ(test.ledger.counts().gate_reads, reads);
  // A plane is made for q (int8) and v (f16), o, gate, down, and shared by k and up: 5 made and 2
  // found in layer 0; 3 and 1 in the last; 3 and 1 in each of two slices of the tail.
  EXPECT_EQ(test.ledger.counts().plane_misses, 5u + 3u + 2u * 3u);
  EXPECT_EQ(test.ledger.counts().plane_hits, 2u + 1u + 2u * 1u);
}

TEST(Engine, DecodeReadsNoGateAndIsTheSameOnEveryPath) {
  std::vector<Dispatch> dispatches;
  std::vector<uint64_t> launches;
  std::vector<std::vector<float>> logits;
  for (const Environment& environment : {Environment{}, Environment{"FG_MMQ=1"}, kNibble}) {
    TestEngine test(MixedModel(), environment);
    test.ledger.Take();
    logits.push_back(test.Logits(RandomTokens(20, 9), 0, {.rows_per_forward = 1}));
    for (const int64_t rows : {2, 15}) {
      test.Logits(RandomTokens(15, 9), 0, {.rows_per_forward = rows});
    }
    EXPECT_TRUE(test.ledger.counts().gate_reads.empty());
    dispatches.push_back(test.ledger.counts().dispatch);
    launches.push_back(test.ledger.counts().launches[static_cast<int>(Phase::kDecode)]);
    EXPECT_EQ(test.ledger.counts().launches[static_cast<int>(Phase::kPrefill)], 0u);
  }
  EXPECT_EQ(dispatches[0], dispatches[1]);
  EXPECT_EQ(dispatches[0], dispatches[2]);
  EXPECT_EQ((dispatches[0][{Phase::kDecode, "matmul", "row.q4_K"}]), (20u + 8 + 1) * 12);
  EXPECT_GT(launches[0], 0u);
  EXPECT_EQ(launches[0], launches[1]);
  EXPECT_EQ(launches[0], launches[2]);
  EXPECT_TRUE(SameBits(logits[0], logits[1]));
  EXPECT_TRUE(SameBits(logits[0], logits[2]));
}

TEST(Engine, TopologyIsTheSameUnderEverySetting) {
  std::set<std::string> identities;
  for (const Environment& environment :
       {Environment{}, Environment{"FG_MMQ=1"}, kNibble, Environment{"FG_PREFILL_GEMM=0"}}) {
    TestEngine test(MixedModel(), environment);
    test.Logits(RandomTokens(30, 9), 29);
    const auto& counts = test.ledger.counts();
    EXPECT_EQ(counts.graphs_built, 1u);
    identities.insert(counts.graph_identities.begin(), counts.graph_identities.end());
    const auto graph_reads =
        std::count_if(counts.gate_reads.begin(), counts.gate_reads.end(),
                      [](const auto& read) { return read.first.second == Phase::kGraph; });
    EXPECT_EQ(graph_reads, 0);
  }
  EXPECT_EQ(identities.size(), 1u);
}

TEST(Engine, AFullContextRefusesOneTokenMore) {
  TestEngine test(NarrowModel(), {}, {.context = 32, .batch = 512, .poison = true});
  EXPECT_EQ(test.engine->batch(), 32);
  auto session = test.engine->NewSession();
  std::vector<float> logits;
  ASSERT_TRUE((*session)->Forward(RandomTokens(30, 1), 30, {}, &logits).ok());
  const Status status = (*session)->Forward(RandomTokens(3, 1), 0, {}, &logits);
  EXPECT_EQ(status.kind(), ErrorKind::kBadRequest);
  EXPECT_EQ(status.message(), "3 tokens after position 30 do not fit the context of 32");
  EXPECT_EQ((*session)->position(), 30);
  EXPECT_TRUE((*session)->Forward(RandomTokens(2, 1), 0, {}, &logits).ok());
  EXPECT_EQ((*session)->position(), 32);
  EXPECT_EQ((*session)->Forward(RandomTokens(1, 1), 0, {}, &logits).message(),
            "1 tokens after position 32 do not fit the context of 32");
}

TEST(Engine, RefusesWhatCannotBeRun) {
  TestEngine test(NarrowModel(), {});
  auto session = test.engine->NewSession();
  std::vector<float> logits;
  const auto message = [&](std::vector<int32_t> tokens, size_t first, int64_t rows) {
    const Status status = (*session)->Forward(tokens, first, {.rows_per_forward = rows}, &logits);
    EXPECT_EQ(status.kind(), ErrorKind::kBadRequest);
    return status.message();
  };
  EXPECT_EQ(message({1, 261, 3}, 0, 0), "token 1 is 261; the vocabulary is 0 to 260");
  EXPECT_EQ(message({-1}, 0, 0), "token 0 is -1; the vocabulary is 0 to 260");
  EXPECT_EQ(message({1, 2}, 3, 0), "first wanted token 3 of 2");
  EXPECT_EQ(message({1, 2}, 0, -1), "rows_per_forward is -1; 1 or more, or 0 for the batch");
  EXPECT_EQ((*session)->Truncate(1).message(), "cannot go back to position 1; the session is at 0");
  EXPECT_EQ((*session)->Truncate(-1).message(),
            "cannot go back to position -1; the session is at 0");
  EXPECT_TRUE(logits.empty());
  EXPECT_EQ((*session)->position(), 0);
}

TEST(Engine, RefusesOptionsThatCannotBeMeant) {
  Ledger ledger;
  const Gates gates = GatesOf({}, &ledger);
  const auto message = [&](const EngineOptions& options) {
    const auto engine = Engine::Load(NarrowModel(), options, Device(), gates, &ledger);
    EXPECT_EQ(engine.status().kind(), ErrorKind::kUsage);
    return engine.status().message();
  };
  EXPECT_EQ(message({.context = 97}),
            "context 97 is outside 1 to the model's 96; 0 takes the model's");
  EXPECT_EQ(message({.context = -1}),
            "context -1 is outside 1 to the model's 96; 0 takes the model's");
  EXPECT_EQ(message({.batch = 0}), "batch 0 is no number of rows; 1 or more");
}

TEST(Engine, TruncateForgets) {
  TestEngine test(MixedModel(), kNibble);
  const std::vector<int32_t> start = RandomTokens(20, 1), rest = RandomTokens(17, 2);
  auto session = test.engine->NewSession();
  std::vector<float> dropped, again, fresh;
  ASSERT_TRUE((*session)->Forward(start, 20, {}, &dropped).ok());
  ASSERT_TRUE((*session)->Forward(RandomTokens(30, 3), 0, {}, &dropped).ok());
  ASSERT_TRUE((*session)->Truncate(20).ok());
  EXPECT_EQ((*session)->position(), 20);
  ASSERT_TRUE((*session)->Forward(rest, 0, {}, &again).ok());
  auto other = test.engine->NewSession();
  ASSERT_TRUE((*other)->Forward(start, 20, {}, &dropped).ok());
  ASSERT_TRUE((*other)->Forward(rest, 0, {}, &fresh).ok());
  EXPECT_TRUE(SameBits(again, fresh));
}

TEST(Engine, SessionsDoNotMix) {
  TestEngine test(MixedModel(), kNibble);
  const std::vector<int32_t> a = RandomTokens(40, 1), b = RandomTokens(40, 2);
  const std::vector<float> want_a = test.Logits(a, 0, {.rows_per_forward = 20});
  auto first = test.engine->NewSession(), second = test.engine->NewSession();
  std::vector<float> logits_a, logits_b;
  for (const size_t from : {0, 20}) {
    ASSERT_TRUE((*first)->Forward(std::span(a).subspan(from, 20), 0, {}, &logits_a).ok());
    ASSERT_TRUE((*second)->Forward(std::span(b).subspan(from, 20), 0, {}, &logits_b).ok());
  }
  EXPECT_TRUE(SameBits(logits_a, want_a));
  EXPECT_FALSE(SameBits(logits_b, want_a));
}

TEST(Engine, ARequestThatMadeNanHarmsNoOther) {
  TinyModelSpec spec;
  spec.type = TensorType::kF16;
  spec.edit = [](const std::string& name, std::vector<float>* values) {
    if (name == "token_embd.weight") (*values)[7 * 64 + 3] = 1e9f;  // infinity in f16
  };
  TestEngine test(WriteTinyModel(spec), {});
  std::vector<int32_t> good = RandomTokens(20, 1), bad = good;
  std::replace(good.begin(), good.end(), 7, 8);
  bad[5] = 7;
  const std::vector<float> want = test.Logits(good);
  ASSERT_TRUE(AllFinite(want));
  auto session = test.engine->NewSession();
  std::vector<float> logits, again;
  ASSERT_TRUE((*session)->Forward(bad, 0, {}, &logits).ok());
  EXPECT_TRUE(std::isnan(logits.back()));
  EXPECT_TRUE(std::isfinite(logits.front()));  // causal: the rows before do not see it
  ASSERT_TRUE((*session)->Truncate(0).ok());
  ASSERT_TRUE((*session)->Forward(good, 0, {}, &again).ok());
  EXPECT_TRUE(SameBits(again, want));
  EXPECT_TRUE(SameBits(test.Logits(good), want));
}

// E2's toy: a hidden value beyond f16 stays finite on every path.
TEST(Engine, AHiddenValueOf70000StaysFinite) {
  TinyModelSpec spec = WideSpec(TensorType::kQ4_0);
  spec.types = {{"token_embd.weight", TensorType::kF32}};
  spec.edit = [](const std::string& name, std::vector<float>* values) {
    const bool wide = name.ends_with("ffn_norm.weight") || name.ends_with("ffn_up.weight");
    for (float& value : *values) value *= wide ? 300.0f : 1.0f;
  };
  const std::string path = WriteTinyModel(spec);
  for (const Environment& environment : {Environment{}, Environment{"FG_MMQ=1"}}) {
    TestEngine test(path, environment);
    for (const size_t rows : {15, 16, 17})
      EXPECT_TRUE(AllFinite(test.Logits(RandomTokens(rows, 3))));
  }
}

TEST(Engine, TellsWhatItLoaded) {
  TestEngine test(MixedModel(), kNibble);
  const ModelSummary& summary = test.engine->summary();
  EXPECT_EQ(summary.sha256, Sha256File(MixedModel()).value());
  EXPECT_EQ(summary.architecture, "qwen2");
  EXPECT_EQ(summary.name, "tiny");
  EXPECT_EQ(summary.layers, 2);
  EXPECT_EQ(summary.head_dim, 64);
  EXPECT_EQ(summary.vocabulary, 261);
  EXPECT_EQ(summary.context, 96);
  const std::map<std::string, int> tensors = {{"f32", 11}, {"q4_K", 13}, {"q6_K", 3}};
  const std::map<std::string, int> w16 = {{"q4_K", 9}, {"q6_K", 2}};
  EXPECT_EQ(summary.tensors, tensors);
  EXPECT_EQ(summary.w16, w16);
  EXPECT_TRUE(summary.registered.nibble_family_only);
  EXPECT_EQ(test.engine->context(), 96);
  EXPECT_EQ(test.engine->tokenizer().eos(), kTinyEos);
  EXPECT_GT(test.engine->load_milliseconds(), 0);
  TestEngine narrow(NarrowModel(), {});
  EXPECT_FALSE(narrow.engine->summary().registered.nibble_family_only);
}

TEST(Engine, SaysWhatIsWrongWithAFile) {
  Ledger ledger;
  const Gates gates = GatesOf({}, &ledger);
  const auto load = [&](const std::string& path) {
    return Engine::Load(path, {}, Device(), gates, &ledger).status();
  };
  const Status missing = load("/no/such/model.gguf");
  EXPECT_EQ(missing.kind(), ErrorKind::kIo);
  EXPECT_EQ(missing.message(), "/no/such/model.gguf: No such file or directory");
  TinyModelSpec spec;
  spec.renamed = {{"blk.1.ffn_up.weight", ""}};
  const std::string path = WriteTinyModel(spec);
  const Status damaged = load(path);
  EXPECT_EQ(damaged.kind(), ErrorKind::kBadModel);
  EXPECT_EQ(damaged.message(), path + ": missing tensor 'blk.1.ffn_up.weight' of shape [64, 96]");
}

}  // namespace
}  // namespace fg
