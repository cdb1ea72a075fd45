// FG_MMQ_A_FUSE over modes and models: the mode and its reasons, one stream whatever the mode, the
// labels, the planes' bytes, the violations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "engine/session/engine.h"
#include "engine/session/engine_testing.h"
#include "kernels/formats/planes.h"

namespace fg {
namespace {

using namespace testing;  // NOLINT: the helpers of engine_testing.h
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Environment Full(const std::string& mode, const std::string& more = "FG_THREADS=1") {
  return {"FG_MMQ=1",
          "FG_MMQ_RAW=1",
          "FG_MMQ_RAW_NB=1",
          "FG_MMQ_A_TRANSPOSE=1",
          "FG_MMQ_Q6K_NB=1",
          "FG_MMQ_Q6K_EXP=1",
          "FG_MMQ_Q4K_DSC=1",
          "FG_MMQ_A_FUSE=" + mode,
          more};
}

// Without the variable `name`.
Environment Less(Environment environment, const std::string& name) {
  std::erase_if(environment, [&](const auto& text) { return text.starts_with(name + "="); });
  return environment;
}

std::string Model(const std::string& kind) {
  static std::map<std::string, std::string> paths;
  if (const auto known = paths.find(kind); known != paths.end()) return known->second;
  TinyModelSpec spec = MixedSpec();
  if (kind == "q4_0") spec = WideSpec(TensorType::kQ4_0);
  if (kind == "f16") spec = WideSpec(TensorType::kF16);
  if (kind == "mixed") {
    spec.types.insert_or_assign("attn_output.weight", TensorType::kQ8_0);
    spec.types.insert({"ffn_gate.weight", TensorType::kQ5_0});
  }
  if (kind == "f32_2d") spec.types.insert({"blk.0.attn_q.weight", TensorType::kF32});
  if (kind == "narrow") {
    spec = {};
    spec.shape.width = 320;
    spec.shape.ffn = 832;
    spec.shape.head_dim = 80;
    spec.type = TensorType::kQ4_0;
  }
  return paths[kind] = WriteTinyModel(spec);
}

std::vector<std::string> Reasons(const TestEngine& test) {
  std::vector<std::string> reasons;
  for (const Degradation& entry : test.ledger.counts().degradations) {
    reasons.push_back(entry.from + " > " + entry.to + ": " + entry.reason);
  }
  return reasons;
}

uint64_t Count(const TestEngine& test, const char* op, const char* label) {
  const auto& dispatch = test.ledger.counts().dispatch;
  const auto found = dispatch.find({Phase::kPrefill, op, label});
  return found == dispatch.end() ? 0 : found->second;
}

TEST(EngineFuse, EveryModelGivesOneStreamInEveryModeAndDegradesWithTheReason) {
  const std::string mix = "FG_MMQ_A_FUSE=2 > FG_MMQ_A_FUSE=1: weight_mix";
  const std::string width = "FG_MMQ_A_FUSE=2 > FG_MMQ_A_FUSE=0: width";
  struct Row {
    const char* model;
    int mode;
    std::vector<std::string> reasons;
  };
  const std::vector<Row> rows = {{"q4_k_m", 2, {}},    {"q4_0", 1, {mix}},
                                 {"mixed", 1, {mix}},  {"f16", 1, {mix}},
                                 {"f32_2d", 1, {mix}}, {"narrow", 0, {width, mix}}};
  const std::vector<int32_t> tokens = RandomTokens(37, 5);
  for (const Row& row : rows) {
    SCOPED_TRACE(row.model);
    TestEngine off(Model(row.model), Full("0")), one(Model(row.model), Full("1")),
        two(Model(row.model), Full("2"));
    const std::vector<float> want = off.Logits(tokens, 30);
    ASSERT_TRUE(AllFinite(want));
    EXPECT_TRUE(SameBits(one.Logits(tokens, 30), want));
    EXPECT_TRUE(SameBits(two.Logits(tokens, 30), want));
    EXPECT_EQ(two.engine->summary().registered.fuse_asked, 2);
    EXPECT_EQ(two.engine->summary().registered.fuse_mode, row.mode);
    EXPECT_EQ(two.engine->summary().registered.nibble_family_only, row.mode == 2);
    EXPECT_EQ(Reasons(two), row.reasons);
    EXPECT_EQ(one.engine->summary().registered.fuse_mode, std::min(row.mode, 1));
    EXPECT_THAT(Reasons(off), IsEmpty());
    const std::string fused = ".fuse" + std::to_string(row.mode);
    if (row.mode > 0) {
      EXPECT_EQ(Count(two, "rms_norm", ("rms_norm" + fused).c_str()), 3u);  // 2L - 1
      EXPECT_EQ(Count(two, "swiglu", ("swiglu" + fused).c_str()), 1u);      // L - 1
    } else {
      EXPECT_EQ(Count(two, "rms_norm", "rms_norm"), Count(off, "rms_norm", "rms_norm"));
    }
  }
}

TEST(EngineFuse, AGateMissingFromItsNeedsIsModeZero) {
  const std::vector<int32_t> tokens = RandomTokens(20, 5);
  for (const char* need : {"FG_MMQ_RAW", "FG_MMQ_RAW_NB", "FG_MMQ_A_TRANSPOSE"}) {
    TestEngine test(Model("q4_k_m"), Less(Full("2"), need)),
        plain(Model("q4_k_m"), Less(Full("0"), need));
    EXPECT_EQ(test.engine->summary().registered.fuse_mode, 0) << need;
    EXPECT_THAT(Reasons(test), ElementsAre("FG_MMQ_A_FUSE=2 > FG_MMQ_A_FUSE=0: needs"));
    EXPECT_TRUE(SameBits(test.Logits(tokens), plain.Logits(tokens))) << need;
  }
  for (const char* need : {"FG_MMQ", "FG_MMQ_Q6K_NB"}) {
    TestEngine test(Model("q4_k_m"), Less(Full("2"), need));
    EXPECT_EQ(test.engine->summary().registered.fuse_mode, 0) << need;
    EXPECT_THAT(Reasons(test), ElementsAre("FG_MMQ_A_FUSE=2 > FG_MMQ_A_FUSE=0: needs"));
  }
}

TEST(EngineFuse, ForcedRowsDegradeToModeOneAndEqualTheRest) {
  const std::vector<int32_t> tokens = RandomTokens(20, 5);
  TestEngine rows(Model("q4_k_m"), Full("2", "FG_PREFILL_GEMM=0")), two(Model("q4_k_m"), Full("2"));
  EXPECT_THAT(Reasons(rows), ElementsAre("FG_MMQ_A_FUSE=2 > FG_MMQ_A_FUSE=1: prefill_gemm"));
  EXPECT_TRUE(SameBits(rows.Logits(tokens), two.Logits(tokens)));
}

// Every combination of the gates with the same bits, at every level.
TEST(EngineFuse, NinetySixCombinationsGiveOneStreamAtEveryLevel) {
  const std::vector<int32_t> tokens = RandomTokens(19, 5);
  const char* switches[] = {
      "FG_MMQ_RAW=", "FG_MMQ_RAW_NB=", "FG_MMQ_A_TRANSPOSE=", "FG_MMQ_Q6K_EXP=", "FG_MMQ_Q4K_DSC="};
  std::vector<float> want;
  std::set<std::string> paths;
  int combinations = 0;
  for (const CpuLevel level : SupportedCpuLevels()) {
    for (int mask = 0; mask < 96; ++mask) {
      Environment environment = {"FG_MMQ=1", "FG_MMQ_Q6K_NB=1",
                                 std::string("FG_CPU_LEVEL=") + CpuLevelName(level),
                                 "FG_MMQ_A_FUSE=" + std::to_string(mask / 32)};
      for (int i = 0; i < 5; ++i) {
        environment.push_back(std::string(switches[i]) + ((mask >> i) & 1 ? "1" : "0"));
      }
      TestEngine test(MixedModel(), environment);
      const std::vector<float> logits = test.Logits(tokens, 18);
      if (want.empty()) want = logits;
      ASSERT_TRUE(SameBits(logits, want)) << CpuLevelName(level) << mask;
      ++combinations;
      std::string path;
      for (const auto& [key, count] : test.ledger.counts().dispatch) {
        const auto& [phase, op, label] = key;
        if (op == "matmul" || label.find("fuse") != std::string::npos) path += label + " ";
      }
      paths.insert(path);
    }
  }
  EXPECT_EQ(combinations, 96 * static_cast<int>(SupportedCpuLevels().size()));
  EXPECT_EQ(paths.size(), 20u);
}

TEST(EngineFuse, CountsTheLabelsOfTheFullPath) {
  TestEngine test(MixedModel(), Full("2"));
  test.ledger.Take();
  test.Logits(RandomTokens(20, 9), 4);  // 16 wanted: a slice of 15 and one of 1
  EXPECT_EQ(Count(test, "matmul", "mmq.q4_K.nb.bt.dsc"), 9u);
  EXPECT_EQ(Count(test, "matmul", "mmq.q6_K.nb.bt.exp"), 2u);
  EXPECT_EQ(Count(test, "rms_norm", "rms_norm.fuse2"), 3u);
  EXPECT_EQ(Count(test, "rms_norm", "rms_norm"), 2u * 2);
  EXPECT_EQ(Count(test, "swiglu", "swiglu.fuse2"), 1u);
  EXPECT_EQ(Count(test, "swiglu", "swiglu"), 2u);
  EXPECT_EQ(Count(test, "prepass", "prepass.tiles"), 2u);  // attention's output
  EXPECT_EQ(Count(test, "prepass", "prepass.rows"), 2u * 3);
  EXPECT_EQ(Count(test, "prepass", "prepass.f16"), 0u);
  const auto reads = test.ledger.counts().gate_reads.at({"FG_MMQ_A_FUSE", Phase::kPrefill});
  EXPECT_EQ(reads, 4u);
}

TEST(EngineFuse, DecodeAsksNothingAndRunsTheSame) {
  const std::vector<int32_t> tokens = RandomTokens(15, 9);
  TestEngine full(MixedModel(), Full("2")), none(MixedModel(), {});
  full.ledger.Take();
  none.ledger.Take();
  for (const int64_t rows : {1, 15}) {
    EXPECT_TRUE(SameBits(full.Logits(tokens, 0, {.rows_per_forward = rows}),
                         none.Logits(tokens, 0, {.rows_per_forward = rows})));
  }
  EXPECT_THAT(full.ledger.counts().gate_reads, IsEmpty());
  EXPECT_EQ(full.ledger.counts().dispatch, none.ledger.counts().dispatch);
  EXPECT_EQ(Count(full, "rms_norm", "rms_norm.fuse2"), 0u);
}

TEST(EngineFuse, TopologyIsTheSameInEveryMode) {
  std::set<std::string> identities;
  for (const char* mode : {"0", "1", "2"}) {
    TestEngine test(MixedModel(), Full(mode));
    test.Logits(RandomTokens(30, 9), 29);
    const auto& counts = test.ledger.counts();
    identities.insert(counts.graph_identities.begin(), counts.graph_identities.end());
  }
  EXPECT_EQ(identities.size(), 1u);
}

// The shapes of MixedSpec's w16 weights of one type.
std::vector<std::pair<int64_t, int64_t>> ShapesOf(TensorType type) {
  if (type == TensorType::kQ6_K) return {{256, 128}, {256, 128}};
  return {{256, 256}, {256, 256}, {256, 128}, {256, 128}, {256, 256},
          {256, 256}, {256, 512}, {256, 512}, {512, 256}};
}

TEST(EngineFuse, PlanesOfWeightsHaveTheFormulasBytes) {
  uint64_t scales = 0, expanded = 0;
  for (const auto& [k, out] : ShapesOf(TensorType::kQ4_K)) scales += ScalePlaneBytes(k, out);
  for (const auto& [k, out] : ShapesOf(TensorType::kQ6_K)) expanded += ExpandedPlaneBytes(k, out);
  TestEngine both(MixedModel(), Full("0"));
  const PlaneCount q4 = {"scales", "q4_K", "FG_MMQ_Q4K_DSC", 9, scales};
  const PlaneCount q6 = {"expanded", "q6_K", "FG_MMQ_Q6K_EXP", 2, expanded};
  EXPECT_THAT(both.engine->summary().registered.planes, ::testing::UnorderedElementsAre(q4, q6));
  const auto planes = [](const TestEngine& test) {
    return test.engine->memory().entry(MemoryCategory::kPlanes).now;
  };
  EXPECT_EQ(planes(both), scales + expanded);
  EXPECT_EQ(both.engine->memory().entry(MemoryCategory::kF16Cache).now, 0u);
  TestEngine q4_only(MixedModel(), Less(Full("2"), "FG_MMQ_Q6K_EXP")),
      no_tiles(MixedModel(), Less(Full("2"), "FG_MMQ_A_TRANSPOSE")),
      no_mmq(MixedModel(), Less(Full("2"), "FG_MMQ"));
  EXPECT_EQ(planes(q4_only), scales);
  EXPECT_EQ(planes(no_tiles), expanded);
  EXPECT_EQ(planes(no_mmq), 0u);
  TestEngine tail(MixedModel(), Full("0", "FG_FAULT=plane_for_tail"));
  EXPECT_GT(planes(tail), scales + expanded);
}

TEST(EngineFuse, APlaneThatDoesNotFitDegradesItsGate) {
  const std::vector<int32_t> tokens = RandomTokens(20, 9);
  TestEngine full(MixedModel(), Full("2")), none(MixedModel(), Full("2", "FG_PLANE_LIMIT_MIB=0"));
  EXPECT_TRUE(SameBits(full.Logits(tokens), none.Logits(tokens)));
  EXPECT_THAT(none.engine->summary().registered.planes, IsEmpty());
  EXPECT_EQ(none.engine->memory().entry(MemoryCategory::kPlanes).peak, 0u);
  EXPECT_THAT(Reasons(none),
              ::testing::UnorderedElementsAre("FG_MMQ_Q4K_DSC=1 > FG_MMQ_Q4K_DSC=0: memory",
                                              "FG_MMQ_Q6K_EXP=1 > FG_MMQ_Q6K_EXP=0: memory"));
  EXPECT_EQ(Count(none, "matmul", "mmq.q4_K.nb.bt!"), 9u);
  EXPECT_EQ(Count(none, "matmul", "mmq.q6_K.nb.bt!"), 2u);
  EXPECT_EQ(none.engine->summary().registered.fuse_mode, 2);  // the mode asks for no plane
}

// Planes for the largest batch are taken at load; no forward takes more.
TEST(EngineFuse, AForwardTakesNoMoreScratchThanTheLoadTook) {
  for (const char* kind : {"q4_k_m", "mixed", "f16"}) {
    TestEngine test(Model(kind), Full("2"));
    const uint64_t scratch = test.engine->memory().entry(MemoryCategory::kScratch).now;
    for (const size_t rows : {96, 50, 17, 16, 15, 1}) {
      for (const size_t first : {size_t{0}, rows}) test.Logits(RandomTokens(rows, 1), first);
    }
    EXPECT_EQ(test.engine->memory().entry(MemoryCategory::kScratch).peak, scratch) << kind;
  }
}

std::string Violated(TestEngine& test, Violation violation) {
  auto session = test.engine->NewSession().value();
  std::vector<float> logits;
  const Status status =
      session->Forward(RandomTokens(20, 9), 19, {.violation = violation}, &logits);
  EXPECT_EQ(session->position(), status.ok() ? 20 : 0);
  EXPECT_EQ(logits.empty(), !status.ok());
  return std::string(ErrorKindName(status.kind())) + ": " + status.message();
}

TEST(EngineFuse, ViolationsAreRefusedAndTheEngineLivesOn) {
  const std::vector<int32_t> tokens = RandomTokens(20, 9);
  TestEngine test(MixedModel(), Full("2"));
  const std::vector<float> want = test.Logits(tokens);
  const std::string dead =
      "node 2 (matmul blk.0.attn_q.weight): the output of node 1 is asked for, which "
      "FG_MMQ_A_FUSE=2 left unwritten: a dead write";
  const std::string stale =
      "node 9 (matmul blk.0.attn_output.weight): the plane 'tiles' at hand is that of node 1, "
      "asked for is that of node 8 at the same address: a stale plane";
  EXPECT_EQ(Violated(test, Violation::kDeadWrite), "refused: " + dead);
  EXPECT_EQ(Violated(test, Violation::kStalePlane), "refused: " + stale);
  EXPECT_THAT(test.ledger.counts().refusals, ElementsAre(dead, stale));
  EXPECT_TRUE(SameBits(test.Logits(tokens), want));
  // The same breach in the row-major and in the f16 layout.
  TestEngine nibble(MixedModel(), kNibble), f16(MixedModel(), {});
  EXPECT_THAT(Violated(nibble, Violation::kStalePlane),
              ::testing::HasSubstr("plane 'rows' at hand"));
  EXPECT_THAT(Violated(f16, Violation::kStalePlane), ::testing::HasSubstr("plane 'f16' at hand"));
}

TEST(EngineFuse, AViolationThatCannotAriseSaysSo) {
  TestEngine one(MixedModel(), Full("1")), f32(NarrowModel(), {});
  EXPECT_EQ(Violated(one, Violation::kDeadWrite),
            "bad_request: the violation dead_write cannot arise: it needs FG_MMQ_A_FUSE in mode 2 "
            "and 16 rows or more; here are mode 1 and 20 rows");
  EXPECT_EQ(Violated(f32, Violation::kStalePlane),
            "bad_request: the violation did not arise: no matmul of this graph met a plane of the "
            "same address and shape");
  EXPECT_THAT(one.ledger.counts().refusals, IsEmpty());
}

}  // namespace
}  // namespace fg
