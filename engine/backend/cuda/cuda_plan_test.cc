#include "engine/backend/cuda/cuda_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "engine/backend/cuda/cuda_plan_testing.h"
#include "engine/phase.h"

namespace fg {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::PlacingFaults;
using testing::SymbolicRun;

ModelShape TinyShape() {
  return {.layers = 3,
          .width = 64,
          .ffn = 96,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 32,
          .vocabulary = 261,
          .tied_output = false};
}
ModelShape Shape7b() {
  return {.layers = 28,
          .width = 3584,
          .ffn = 18944,
          .heads = 28,
          .kv_heads = 4,
          .head_dim = 128,
          .vocabulary = 152064,
          .tied_output = false};
}

struct Types {
  TensorType all = TensorType::kQ4_K;
  std::map<std::string, TensorType> by_ending = {};
  bool gemm = true;

  TensorType Of(const std::string& name) const {
    for (const auto& [ending, type] : by_ending) {
      if (name.ends_with(ending)) return type;
    }
    return all;
  }
};

PlanOptions OptionsOf(const Graph& graph, const Types& types, bool fused = true, bool many = true) {
  PlanOptions options;
  options.fused = fused;
  options.attention_many = many;
  const ModelShape shape = graph.params.shape;
  options.weight_of = [types, shape](const Node& node) -> PlannedWeight {
    const TensorType type = types.Of(node.weight);
    const int64_t k = node.weight.ends_with("ffn_down.weight")      ? shape.ffn
                      : node.weight.ends_with("attn_output.weight") ? shape.query_width()
                                                                    : shape.width;
    const bool wide = node.rows >= kPrefillRows && k % 32 == 0 && types.gemm;
    const auto gemm =
        type == TensorType::kF32 ? CudaMatmulPath::kGemmF32 : CudaMatmulPath::kGemmF16;
    return {type, wide ? gemm : CudaMatmulPath::kRows, k};
  };
  return options;
}

std::vector<std::string> FaultsOf(const Graph& graph, const CudaPlan& plan) {
  std::vector<std::string> faults = SymbolicRun(graph, plan).Faults();
  for (std::string& fault : PlacingFaults(plan)) faults.push_back(std::move(fault));
  return faults;
}

std::string KindsOf(const CudaPlan& plan) {
  static const char* kNames[] = {"embed",   "norm",    "gemm", "matvec",    "gate_up", "scale",
                                 "rope_kv", "rope",    "kv",   "attention", "swiglu",  "add",
                                 "to_f16",  "to_rows", "view", "logits"};
  std::string text;
  for (const CudaStep& step : plan.steps) {
    text += text.empty() ? "" : " ";
    text += kNames[static_cast<int>(step.kind)];
    if (step.kind == StepKind::kNorm && step.in[1]) text += "+";
    if (step.kind == StepKind::kMatvec && step.weight[1] >= 0)
      text += step.weight[2] >= 0 ? "3" : "2";
    if (step.kind == StepKind::kMatvec && step.residual) text += "+";
    if (step.kind == StepKind::kAttention) text += step.many ? ".many" : ".few";
  }
  return text;
}

std::map<std::string, int> LabelsOf(const CudaPlan& plan) {
  std::map<std::string, int> labels;
  for (const CudaStep& step : plan.steps) {
    for (const StepLabel& label : step.labels) ++labels[label.op + ": " + label.label];
  }
  return labels;
}

std::vector<Types> AllTypes() {
  const auto q4k = TensorType::kQ4_K, q6k = TensorType::kQ6_K, f16 = TensorType::kF16,
             f32 = TensorType::kF32, q8 = TensorType::kQ8_0;
  std::vector<Types> list = {{q4k}, {f16}, {f32}, {TensorType::kBF16}, {TensorType::kQ4_0}};
  list.push_back({q4k, {{"attn_v.weight", q6k}, {"ffn_down.weight", q6k}}});
  list.push_back({q4k, {{"attn_v.weight", f32}}});  // q, k and v mixed
  list.push_back({q4k, {{"attn_q.weight", f32}, {"attn_k.weight", f16}}});
  list.push_back({q4k, {{"ffn_up.weight", f32}}});  // gate and up mixed
  list.push_back({q4k, {{"ffn_gate.weight", q8}}});
  list.push_back({f32, {{"ffn_down.weight", q4k}, {"attn_output.weight", q8}}});
  return list;
}

// --- Any graph
// ------------------------------------------------------------------------------------

TEST(CudaPlan, EveryPlanComputesItsGraph) {
  int plans = 0;
  for (Types types : AllTypes()) {
    for (const int64_t rows : {1, 2, 15, 16, 17, 40}) {
      for (const int64_t wanted : {int64_t{0}, int64_t{1}, rows}) {
        for (int bits = 0; bits < 8; ++bits) {
          types.gemm = (bits & 1) == 0;
          const Graph graph = BuildGraph({TinyShape(), rows, wanted});
          const PlanOptions options = OptionsOf(graph, types, (bits & 2) == 0, (bits & 4) == 0);
          const CudaPlan plan = MakePlan(graph, options);
          ASSERT_THAT(FaultsOf(graph, plan), IsEmpty())
              << "rows " << rows << ", wanted " << wanted << ", bits " << bits << "\n"
              << KindsOf(plan);
          ++plans;
        }
      }
    }
  }
  EXPECT_EQ(plans, 11 * 6 * 3 * 8);
}

TEST(CudaPlan, WidthsThatAreNoMultipleOf32TakeTheOneRowKernels) {
  ModelShape shape = TinyShape();
  shape.width = 60;
  shape.ffn = 90;
  const Graph graph = BuildGraph({shape, 20, 1});
  const CudaPlan plan = MakePlan(graph, OptionsOf(graph, {TensorType::kF32}));
  EXPECT_THAT(FaultsOf(graph, plan), IsEmpty());
  for (const CudaStep& step : plan.steps) {
    // attn_output alone reads a multiple of 32: the heads' values.
    EXPECT_EQ(step.kind == StepKind::kGemm, step.k == 128) << step.kernel;
  }
}

TEST(CudaPlan, AnotherReaderOfANormsOutputGetsItsRows) {
  for (const int64_t rows : {1, 20}) {
    Graph graph = BuildGraph({TinyShape(), rows, 1});
    for (Node& node : graph.nodes) {
      if (node.op != GraphOp::kAdd) continue;
      node.inputs[1] = 1;  // the norm
      break;
    }
    EXPECT_EQ(graph.nodes[1].op, GraphOp::kRmsNorm);
    const CudaPlan plan = MakePlan(graph, OptionsOf(graph, {}));
    EXPECT_THAT(FaultsOf(graph, plan), IsEmpty());
    EXPECT_TRUE(plan.node_f32[1]);
  }
}

// A matmul whose output others read too is scaled before them.
TEST(CudaPlan, AnotherReaderOfAMatmulGetsItScaled) {
  Graph graph = BuildGraph({TinyShape(), 20, 0});
  int output = -1;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].weight == "blk.0.attn_output.weight") output = static_cast<int>(i);
  }
  ASSERT_GT(output, 0);
  for (Node& node : graph.nodes) {
    if (node.op == GraphOp::kAdd && node.inputs[0] != output) {
      node.inputs[1] = output;  // a later residual
      break;
    }
  }
  const CudaPlan plan = MakePlan(graph, OptionsOf(graph, {}));
  EXPECT_THAT(FaultsOf(graph, plan), IsEmpty());
  EXPECT_THAT(KindsOf(plan), ::testing::HasSubstr("gemm scale norm+"));
}

// --- The checker itself
// -----------------------------------------------------------------------------

TEST(CudaPlan, ABrokenPlanIsSeen) {
  const Graph graph = BuildGraph({TinyShape(), 20, 1});
  const CudaPlan good = MakePlan(graph, OptionsOf(graph, {}));
  ASSERT_THAT(FaultsOf(graph, good), IsEmpty());
  int broken = 0;
  for (size_t at = 0; at < good.steps.size(); ++at) {
    const auto expect_seen = [&](auto change) {
      CudaPlan bad = good;
      if (!change(&bad.steps[at])) return;
      ++broken;
      EXPECT_FALSE(FaultsOf(graph, bad).empty()) << "step " << at;
    };
    expect_seen(
        [](CudaStep* s) { return static_cast<bool>(s->in_scale) && (s->in_scale = {}, true); });
    expect_seen(
        [](CudaStep* s) { return s->kind == StepKind::kRopeKv && (s->bias[1] = -1, true); });
    expect_seen(
        [](CudaStep* s) { return static_cast<bool>(s->plane) && (s->plane.buffer = 0, true); });
    expect_seen([](CudaStep* s) { return !s->nodes.empty() && (s->nodes.pop_back(), true); });
  }
  EXPECT_GT(broken, 40);
  CudaPlan overlapping = good;
  for (StepBuffer& buffer : overlapping.buffers) buffer.offset = 0;
  EXPECT_FALSE(FaultsOf(graph, overlapping).empty());
}

// --- The forms
// --------------------------------------------------------------------------------------

TEST(CudaPlan, ADecodeStepIsEightKernelsALayer) {
  const Graph graph = BuildGraph({TinyShape(), 1, 1});
  const CudaPlan plan = MakePlan(graph, OptionsOf(graph, {}));
  const std::string layer = " norm matvec3 rope_kv attention.few matvec+ norm gate_up matvec+";
  EXPECT_EQ(KindsOf(plan), "embed" + layer + layer +
                               " norm matvec3 rope_kv attention.few matvec+ view norm gate_up "
                               "matvec+ norm matvec logits");
  EXPECT_TRUE(plan.buckets);
  EXPECT_EQ(plan.logits_rows, 1);
  const std::map<std::string, int> labels = {
      {"embed: embed.q4_K", 1}, {"rms_norm: rms_norm.rows", 7}, {"matmul: row.q4_K", 22},
      {"rope: rope.kv", 6},     {"kv_store: kv_store.rope", 3}, {"attention: attention.few", 3},
      {"add: add.row", 6},      {"swiglu: swiglu.row", 3},      {"gather: gather.view", 1}};
  EXPECT_EQ(LabelsOf(plan), labels);
}

TEST(CudaPlan, APrefillFusesNormsRopeAndSwiglu) {
  const Graph graph = BuildGraph({TinyShape(), 20, 1});
  const CudaPlan plan = MakePlan(graph, OptionsOf(graph, {}));
  const std::string attention = " gemm gemm gemm rope_kv attention.many to_f16 gemm";
  const std::string ffn = " norm+ gemm gemm swiglu gemm norm+";
  EXPECT_EQ(KindsOf(plan), "embed norm" + attention + ffn + attention + ffn + attention +
                               " scale add view norm gate_up matvec+ norm matvec logits");
  EXPECT_FALSE(plan.buckets);
  const std::map<std::string, int> labels = {{"embed: embed.q4_K", 1},
                                             {"rms_norm: rms_norm.f16", 5},
                                             {"rms_norm: rms_norm.rows", 2},
                                             {"matmul: gemm.f16.q4_K", 18},
                                             {"matmul: row.q4_K", 4},
                                             {"rope: rope.kv", 6},
                                             {"kv_store: kv_store.rope", 3},
                                             {"attention: attention.many", 3},
                                             {"prepass: prepass.f16", 3},
                                             {"add: add.norm", 4},
                                             {"add: add", 1},
                                             {"add: add.row", 1},
                                             {"swiglu: swiglu.f16", 2},
                                             {"swiglu: swiglu.row", 1},
                                             {"gather: gather.view", 1}};
  EXPECT_EQ(LabelsOf(plan), labels);
}

TEST(CudaPlan, TheTailComesInSlices) {
  const Graph graph = BuildGraph({TinyShape(), 40, 40});
  const CudaPlan plan = MakePlan(graph, OptionsOf(graph, {}));
  std::vector<std::pair<int64_t, int64_t>> slices;
  for (const CudaStep& step : plan.steps) {
    if (step.kind == StepKind::kLogits) slices.push_back({step.logits_row, step.rows});
  }
  EXPECT_THAT(slices, ElementsAre(std::pair(0, 15), std::pair(15, 15), std::pair(30, 10)));
  EXPECT_EQ(plan.logits_rows, 15);
}

TEST(CudaPlan, MixedWeightsRunApart) {
  const Graph graph = BuildGraph({TinyShape(), 1, 1});
  const CudaPlan qkv =
      MakePlan(graph, OptionsOf(graph, {TensorType::kQ4_K, {{"attn_v.weight", TensorType::kF16}}}));
  EXPECT_THAT(KindsOf(qkv), ::testing::StartsWith("embed norm matvec2 matvec rope_kv"));
  const CudaPlan ffn =
      MakePlan(graph, OptionsOf(graph, {TensorType::kQ4_K, {{"ffn_up.weight", TensorType::kF32}}}));
  EXPECT_THAT(KindsOf(ffn), ::testing::HasSubstr("norm matvec matvec swiglu matvec+"));
  const CudaPlan types = MakePlan(
      graph, OptionsOf(graph, {TensorType::kQ4_K, {{"ffn_up.weight", TensorType::kQ6_K}}}));
  EXPECT_THAT(KindsOf(types), ::testing::HasSubstr("norm matvec2 swiglu matvec+"));
}

TEST(CudaPlan, WithoutGemmsSixteenRowsTakeTheOneRowForms) {
  const Graph graph = BuildGraph({TinyShape(), 20, 1});
  Types types;
  types.gemm = false;
  const CudaPlan plan = MakePlan(graph, OptionsOf(graph, types));
  EXPECT_THAT(KindsOf(plan),
              ::testing::StartsWith("embed norm matvec3 rope_kv attention.many to_rows matvec+ "
                                    "norm gate_up matvec+ norm"));
}

TEST(CudaPlan, UnfusedEachNodeRunsByItselfAndLeavesItsRows) {
  for (const int64_t rows : {1, 20}) {
    const Graph graph = BuildGraph({TinyShape(), rows, rows});
    const CudaPlan plan = MakePlan(graph, OptionsOf(graph, {}, false));
    int owner = -1;
    for (const CudaStep& step : plan.steps) {
      EXPECT_LE(step.nodes.size(), 1u);
      EXPECT_TRUE(step.owner == owner || step.owner == owner + 1) << "owners in order";
      owner = step.owner;
    }
    EXPECT_EQ(owner, static_cast<int>(graph.nodes.size()) - 1);
    for (size_t node = 0; node < graph.nodes.size(); ++node) {
      EXPECT_EQ(static_cast<bool>(plan.node_f32[node]), graph.nodes[node].columns > 0) << node;
    }
  }
}

TEST(CudaPlan, LabelsOfMatmulsAreTheSameFusedOrNot) {
  for (const int64_t rows : {1, 20}) {
    const Graph graph = BuildGraph({TinyShape(), rows, 1});
    auto fused = LabelsOf(MakePlan(graph, OptionsOf(graph, {})));
    auto apart = LabelsOf(MakePlan(graph, OptionsOf(graph, {}, false)));
    const auto matmuls = [](const std::map<std::string, int>& labels) {
      std::map<std::string, int> some;
      for (const auto& [label, count] : labels) {
        if (label.starts_with("matmul")) some[label] = count;
      }
      return some;
    };
    EXPECT_EQ(matmuls(fused), matmuls(apart));
  }
}

TEST(CudaPlan, KernelsBearTheirShapes) {
  const Graph graph = BuildGraph({Shape7b(), 512, 1});
  const CudaPlan plan = MakePlan(graph, OptionsOf(graph, {}));
  std::set<std::string> kernels;
  for (const CudaStep& step : plan.steps) kernels.insert(step.kernel);
  for (const char* name : {"gemm.f16.q4_K 18944x3584", "gemm.f16.q4_K 3584x18944", "attention.many",
                           "add_rms_norm.f16", "swiglu.f16", "rope.kv", "prepass.f16",
                           "gate_up.row.q4_K 18944x3584", "row.q4_K 152064x3584", "argmax"}) {
    EXPECT_TRUE(kernels.contains(name)) << name;
  }
}

// --- Memory
// -------------------------------------------------------------------------------------------

TEST(CudaPlan, ThePoolOf3314RowsOfA7bModel) {
  const Graph graph = BuildGraph({Shape7b(), 3314, 1});
  const CudaPlan plan = MakePlan(graph, OptionsOf(graph, {}));
  EXPECT_THAT(FaultsOf(graph, plan), IsEmpty());
  std::printf("pool of 3314 rows: %.1f MB\n", static_cast<double>(plan.pool_bytes) * 1e-6);
  // Two f32 arrays of ffn columns, their f16 product, and the residual's rows.
  const int64_t rows = 3314, at_swiglu = rows * (2 * 18944 * 4 + 18944 * 2 + 3584 * 4);
  EXPECT_GE(plan.pool_bytes, at_swiglu);
  EXPECT_LT(plan.pool_bytes, at_swiglu + (16 << 20));
  EXPECT_LT(plan.pool_bytes, int64_t{1'500'000'000});
}

TEST(CudaPlan, WantingAllRowsMovesThePoolLittle) {
  const Graph one = BuildGraph({Shape7b(), 512, 1}), all = BuildGraph({Shape7b(), 512, 512});
  const CudaPlan a = MakePlan(one, OptionsOf(one, {})), b = MakePlan(all, OptionsOf(all, {}));
  EXPECT_THAT(FaultsOf(all, b), IsEmpty());
  EXPECT_LT(b.pool_bytes, a.pool_bytes + (16 << 20));
}

}  // namespace
}  // namespace fg
