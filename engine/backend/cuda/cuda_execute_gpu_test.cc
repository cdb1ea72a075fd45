// Forwards on a GPU against the float64 forward, and the forms of a forward against each other.
#include <set>

#include "engine/backend/cuda/cuda_backend_testing.h"
#include "engine/testing/reference_forward.h"

namespace fg {
namespace {

using namespace testing;  // NOLINT: the helpers of the tests' headers

// What a path may deviate, and why.
constexpr double kF16KvCache = 2e-3;            // keys and values are rounded to f16
constexpr double kF16Activations = 8e-3;        // rows, queries and probabilities are, too
constexpr double kQuantizedActivations = 0.12;  // rows are rounded to 8 bits in 32s

struct Case {
  std::string name;
  TinyModelSpec spec;
  Environment environment = {};
  double prefill_tolerance = kQuantizedActivations, decode_tolerance = kQuantizedActivations;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  const auto add = [&](std::string name, TinyModelSpec spec, double prefill, double decode,
                       Environment environment = {}) {
    cases.push_back({std::move(name), std::move(spec), std::move(environment), prefill, decode});
  };
  add("f32_narrow", NarrowSpec(TensorType::kF32), kF16KvCache, kF16KvCache);
  add("f32_wide", WideSpec(TensorType::kF32), kF16Activations, kF16KvCache);
  add("f16_narrow", NarrowSpec(TensorType::kF16), kF16Activations, kF16KvCache);
  add("f16_wide", WideSpec(TensorType::kF16), kF16Activations, kF16KvCache);
  add("bf16_wide", WideSpec(TensorType::kBF16), kF16Activations, kF16KvCache);
  for (const TensorType type : {TensorType::kQ4_0, TensorType::kQ5_0, TensorType::kQ8_0,
                                TensorType::kQ4_K, TensorType::kQ6_K}) {
    add(std::string(InfoOf(type).name) + "_wide", WideSpec(type), kQuantizedActivations,
        kQuantizedActivations);
  }
  add("q4_0_narrow", NarrowSpec(TensorType::kQ4_0), kQuantizedActivations, kQuantizedActivations);
  add("mixed", MixedSpec(), kQuantizedActivations, kQuantizedActivations);
  add("mixed_rows_forced", MixedSpec(), kQuantizedActivations, kQuantizedActivations,
      {"FG_PREFILL_GEMM=0"});
  TinyModelSpec partial = NarrowSpec(TensorType::kF32);
  partial.shape.width = 72;  // no multiple of 32: the one-row kernels whatever the rows
  partial.shape.head_dim = 18;
  add("f32_partial", partial, kF16KvCache, kF16KvCache);
  TinyModelSpec qkv = WideSpec(TensorType::kQ4_K);
  qkv.types = {{"attn_q.weight", TensorType::kF32},
               {"attn_k.weight", TensorType::kF16},
               {"ffn_up.weight", TensorType::kF32}};
  add("mixed_with_floats", qkv, kQuantizedActivations, kQuantizedActivations);
  TinyModelSpec gate = WideSpec(TensorType::kQ4_K);
  gate.types = {{"ffn_gate.weight", TensorType::kQ5_0}, {"attn_output.weight", TensorType::kQ8_0}};
  add("mixed_quantized", gate, kQuantizedActivations, kQuantizedActivations);
  TinyModelSpec heads128 = WideSpec(TensorType::kQ4_K);
  heads128.shape.head_dim = 128;
  heads128.shape.heads = 2;
  heads128.shape.kv_heads = 1;
  add("q4_K_heads_of_128", heads128, kQuantizedActivations, kQuantizedActivations);
  return cases;
}

class CudaForwardsGpu : public ::testing::TestWithParam<Case> {};

TEST_P(CudaForwardsGpu, MatchesFloat64) {
  const Case& param = GetParam();
  CudaModel model(param.spec, param.environment);
  ASSERT_TRUE(model.status.ok()) << model.status.message();
  const std::vector<int32_t> tokens = RandomTokens(40, 11);
  const auto want = ReferenceForward(model.file(), tokens);
  const double at_once = RelativeError(model.Logits(tokens), want);
  std::printf("%s: at once %.2e", param.name.c_str(), at_once);
  EXPECT_LT(at_once, param.prefill_tolerance);
  for (const size_t rows : {33u, 17u, 16u, 15u, 3u, 2u, 1u}) {
    const double error = RelativeError(model.Logits(tokens, rows), want);
    std::printf(", %zu rows %.2e", rows, error);
    EXPECT_LT(error, rows >= 16 ? param.prefill_tolerance : param.decode_tolerance) << rows;
  }
  std::printf("\n");
  const std::vector<int32_t> others(tokens.rbegin(), tokens.rend());
  EXPECT_GT(RelativeError(model.Logits(others), want), 1.0);
}

// Sees every node's output.
class Watcher : public NodeObserver {
 public:
  Status BeginForward(int64_t forward, const Graph&, Phase phase) override {
    said.push_back("begin " + std::to_string(forward) + " " + PhaseName(phase));
    labels.clear();
    not_finite = 0;
    values.clear();
    return Status::Ok();
  }
  Status AfterNode(const NodeRun& run) override {
    EXPECT_EQ(run.index, static_cast<int>(labels.size()));
    EXPECT_EQ(run.values == nullptr, run.node.columns == 0);
    EXPECT_GE(run.seconds, 0);
    labels.push_back(std::string(GraphOpName(run.node.op)) + ": " + run.label);
    if (run.values != nullptr) {
      values.emplace_back(run.values, run.values + run.node.rows * run.node.columns);
      not_finite += NotFinite(values.back());
    } else {
      values.emplace_back();
    }
    return run.index == fail_at ? Status(ErrorKind::kIo, "disk full") : Status::Ok();
  }
  Status EndForward() override {
    said.push_back("end");
    return Status::Ok();
  }
  std::vector<std::string> said, labels;
  std::vector<std::vector<float>> values;
  int not_finite = 0, fail_at = -1;
};

TEST_P(CudaForwardsGpu, FusedAndUnfusedStepsGiveTheSameBits) {
  const Case& param = GetParam();
  CudaModel model(param.spec, param.environment);
  ASSERT_TRUE(model.status.ok()) << model.status.message();
  const std::vector<int32_t> tokens = RandomTokens(40, 12);
  for (const size_t rows : {40u, 17u, 15u, 1u}) {
    const std::vector<float> fused = model.Logits(tokens, rows);
    Watcher watcher;
    model.backend->Observe(&watcher);
    const std::vector<float> unfused = model.Logits(tokens, rows);
    model.backend->Observe(nullptr);
    EXPECT_EQ(watcher.not_finite, 0);
    EXPECT_EQ(NotFinite(fused), 0);
    EXPECT_TRUE(SameFloats(fused, unfused))
        << rows << " rows, error " << RelativeError(unfused, fused);
  }
}

// Rows that are wanted go through the tail in slices: what is asked for beside them moves no bit.
TEST_P(CudaForwardsGpu, ATokensLogitsDoNotDependOnHowManyAreWanted) {
  CudaModel model(GetParam().spec, GetParam().environment);
  ASSERT_TRUE(model.status.ok()) << model.status.message();
  const std::vector<int32_t> tokens = RandomTokens(40, 13);
  const std::vector<float> all = model.Logits(tokens);
  for (const int64_t wanted : {1, 14, 15, 16, 31}) {
    const auto kv = model.NewKv();
    CudaModel::Output output;
    const Status ran = model.Run(kv.get(), tokens, 0, {.wanted = wanted, .ids = true}, &output);
    ASSERT_TRUE(ran.ok()) << ran.message();
    const std::vector<float> last(all.end() - wanted * model.vocabulary(), all.end());
    EXPECT_TRUE(SameFloats(output.logits, last)) << wanted;
    for (int64_t row = 0; row < wanted; ++row) {
      const std::span<const float> logits(last.data() + row * model.vocabulary(),
                                          static_cast<size_t>(model.vocabulary()));
      EXPECT_EQ(output.ids[row], HighestId(logits)) << row << " of " << wanted;
    }
    CudaModel::Output ids;
    ASSERT_TRUE(
        model.Run(kv.get(), tokens, 0, {.wanted = wanted, .logits = false, .ids = true}, &ids)
            .ok());
    EXPECT_EQ(ids.ids, output.ids);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CudaForwardsGpu, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

TEST(CudaExecuteGpu, ARowIsTheSameAloneAndAmongFew) {
  // One-row kernels and AttentionFew: a row's bits do not depend on its neighbours.
  CudaModel model(MixedSpec());
  const std::vector<int32_t> tokens = RandomTokens(15, 14);
  const std::vector<float> alone = model.Logits(tokens, 1);
  for (const size_t rows : {2u, 7u, 15u}) {
    EXPECT_TRUE(SameFloats(model.Logits(tokens, rows), alone)) << rows;
  }
}

TEST(CudaExecuteGpu, ACachedPrefixAgreesWithAColdStart) {
  CudaModel model(MixedSpec());
  const std::vector<int32_t> tokens = RandomTokens(40, 15);
  const std::vector<float> cold = model.Logits(tokens);
  const auto kv = model.NewKv();
  CudaModel::Output first, rest, again;
  const std::span<const int32_t> all(tokens);
  ASSERT_TRUE(model.Run(kv.get(), all.first(20), 0, {.wanted = 20}, &first).ok());
  ASSERT_TRUE(model.Run(kv.get(), all.subspan(20), 20, {.wanted = 20}, &rest).ok());
  const std::vector<float> tail(cold.end() - 20 * model.vocabulary(), cold.end());
  EXPECT_LT(RelativeError(rest.logits, tail), kQuantizedActivations);
  // Back to the prefix: what was behind it is gone.
  ASSERT_TRUE(model.Run(kv.get(), all.subspan(20), 20, {.wanted = 20}, &again).ok());
  EXPECT_TRUE(SameFloats(again.logits, rest.logits));
}

TEST(CudaExecuteGpu, SessionsDoNotSeeEachOther) {
  CudaModel model(MixedSpec());
  const std::vector<int32_t> a = RandomTokens(40, 16), b = RandomTokens(40, 17);
  const std::vector<float> alone_a = model.Logits(a, 4), alone_b = model.Logits(b, 4);
  const auto kv_a = model.NewKv(), kv_b = model.NewKv();
  std::vector<float> both_a, both_b;
  for (size_t at = 0; at < a.size(); at += 4) {
    CudaModel::Output output;
    const auto position = static_cast<int64_t>(at);
    ASSERT_TRUE(
        model.Run(kv_a.get(), std::span(a).subspan(at, 4), position, {.wanted = 4}, &output).ok());
    both_a.insert(both_a.end(), output.logits.begin(), output.logits.end());
    ASSERT_TRUE(
        model.Run(kv_b.get(), std::span(b).subspan(at, 4), position, {.wanted = 4}, &output).ok());
    both_b.insert(both_b.end(), output.logits.begin(), output.logits.end());
  }
  EXPECT_TRUE(SameFloats(both_a, alone_a));
  EXPECT_TRUE(SameFloats(both_b, alone_b));
}

TEST(CudaExecuteGpu, AHiddenValueOf70000StaysFinite) {
  for (const TensorType type : {TensorType::kF16, TensorType::kQ4_0}) {
    TinyModelSpec spec = WideSpec(type);
    spec.types = {{"token_embd.weight", TensorType::kF32}, {"ffn_up.weight", TensorType::kF32}};
    spec.edit = [](const std::string& name, std::vector<float>* values) {
      // The first layer's FFN meets 70000 in each row, at the norm's output.
      if (name == "blk.0.ffn_norm.weight") (*values)[3] = 70000.0f;
    };
    CudaModel model(spec);
    ASSERT_TRUE(model.status.ok()) << model.status.message();
    const std::vector<int32_t> tokens = RandomTokens(40, 18);
    const auto want = ReferenceForward(model.file(), tokens);
    EXPECT_LT(RelativeError(model.Logits(tokens), want), kQuantizedActivations);
    EXPECT_EQ(NotFinite(model.Logits(tokens, 5)), 0);
  }
}

TEST(CudaExecuteGpu, AnObserverSeesEveryNodeAsThePlanRanIt) {
  CudaModel model(MixedSpec());
  Watcher watcher;
  model.backend->Observe(&watcher);
  const auto kv = model.NewKv();
  CudaModel::Output output;
  const std::vector<int32_t> tokens = RandomTokens(20, 19);
  ASSERT_TRUE(model.Run(kv.get(), tokens, 0, {}, &output).ok());
  const Graph graph = BuildGraph({model.model().shape, 20, 1});
  ASSERT_EQ(watcher.labels.size(), graph.nodes.size());
  EXPECT_EQ(watcher.not_finite, 0);
  EXPECT_EQ(watcher.said, (std::vector<std::string>{"begin 0 prefill", "end"}));
  EXPECT_EQ(watcher.values.back(), output.logits);
  const std::set<std::string> labels(watcher.labels.begin(), watcher.labels.end());
  for (const char* label :
       {"embed: embed.q6_K", "rms_norm: rms_norm", "matmul: gemm.f16.q4_K", "matmul: gemm.f16.q6_K",
        "rope: rope", "kv_store: kv_store", "attention: attention.many", "add: add",
        "swiglu: swiglu", "gather: gather.view", "matmul: row.q4_K", "matmul: row.q6_K"}) {
    EXPECT_TRUE(labels.contains(label)) << label;
  }
  watcher.fail_at = 4;
  const Status failed = model.Run(kv.get(), tokens, 0, {}, &output);
  EXPECT_EQ(failed.message(), "disk full");
  model.backend->Observe(nullptr);
  EXPECT_TRUE(model.Run(kv.get(), tokens, 0, {}, &output).ok());
}

TEST(CudaExecuteGpu, AViolationCannotArise) {
  CudaModel model(MixedSpec());
  const auto kv = model.NewKv();
  CudaModel::Output output;
  const std::vector<int32_t> tokens = RandomTokens(20, 20);
  const Status dead = model.Run(kv.get(), tokens, 0, {.violation = Violation::kDeadWrite}, &output);
  EXPECT_EQ(dead.kind(), ErrorKind::kBadRequest);
  EXPECT_EQ(dead.message(),
            "the violation dead_write cannot arise: it needs the int8 prefill family, which the "
            "CUDA backend does not have");
  EXPECT_TRUE(model.Run(kv.get(), tokens, 0, {}, &output).ok());
}

// --- Planted faults
// ---------------------------------------------------------------------------------

TEST(CudaExecuteGpu, ANanIsPlantedInPrefillAlone) {
  CudaModel model(MixedSpec(), {"FG_FAULT=nan_logits"});
  const std::vector<int32_t> tokens = RandomTokens(20, 21);
  EXPECT_EQ(NotFinite(model.Logits(tokens)), 20);
  EXPECT_EQ(NotFinite(model.Logits(tokens, 1)), 0);
}

TEST(CudaExecuteGpu, ARowOffIsAnotherResult) {
  CudaModel model(MixedSpec());
  const auto kv = model.NewKv();
  const std::vector<int32_t> tokens = RandomTokens(40, 22);
  const std::span<const int32_t> all(tokens);
  CudaModel::Output right, off;
  ASSERT_TRUE(model.Run(kv.get(), all.first(20), 0, {}, &right).ok());
  for (const size_t rows : {1u, 20u}) {
    const auto piece = all.subspan(20, rows);
    ASSERT_TRUE(model.Run(kv.get(), piece, 20, {}, &right).ok());
    ASSERT_TRUE(model.Run(kv.get(), piece, 20, {.kv_row_off = true}, &off).ok());
    EXPECT_EQ(NotFinite(off.logits), 0);
    EXPECT_FALSE(SameFloats(off.logits, right.logits)) << rows;
  }
}

TEST(CudaExecuteGpu, DecodeReadsNoGateButUnderItsFault) {
  for (const bool faulty : {false, true}) {
    CudaModel model(MixedSpec(),
                    faulty ? Environment{"FG_FAULT=gate_read_in_decode"} : Environment{});
    model.ledger.Take();
    model.Logits(RandomTokens(5, 23), 1);
    const auto counts = model.ledger.Take();
    EXPECT_EQ(counts.gate_reads.contains({"FG_MMQ", Phase::kDecode}), faulty);
    EXPECT_EQ(counts.gate_reads.empty(), !faulty);
  }
}

TEST(CudaExecuteGpu, ARacingSumMovesBitsFromRunToRun) {
  CudaModel model(MixedSpec(), {"FG_FAULT=racing_sum"}), healthy(MixedSpec());
  const std::vector<int32_t> tokens = RandomTokens(20, 24);
  EXPECT_TRUE(SameFloats(healthy.Logits(tokens), healthy.Logits(tokens)));
  const std::vector<float> first = model.Logits(tokens);
  int moved = 0;
  for (int run = 0; run < 8; ++run) {
    const std::vector<float> next = model.Logits(tokens);
    EXPECT_LT(RelativeError(next, first), 1e-4);
    moved += SameFloats(next, first) ? 0 : 1;
  }
  EXPECT_GT(moved, 0);
}

}  // namespace
}  // namespace fg
