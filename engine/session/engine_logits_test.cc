// The engine's logits against a float64 forward that shares no code with it but the dequantizer.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/session/engine.h"
#include "engine/testing/reference_forward.h"
#include "engine/testing/relative_error.h"
#include "engine/testing/test_engine.h"
#include "engine/testing/tiny_model.h"

namespace fg {
namespace {

using testing::RandomTokens;
using testing::RelativeError;
using testing::TestEngine;
using testing::TinyModelBytes;
using testing::TinyModelSpec;
using testing::WideSpec;
using testing::WriteTinyModel;

// What a path may deviate, and why. Measured on these models: about a third of each.
constexpr double kF16KvCache = 2e-3;            // f32 weights: keys and values are rounded to f16
constexpr double kF16Activations = 6e-3;        // f16 path: rows are rounded to f16 as well
constexpr double kQuantizedActivations = 0.12;  // int8 path: rows are rounded to 8 bits in 32s

struct Case {
  std::string name;
  TinyModelSpec spec;
  std::vector<std::string> environment;
  double prefill_tolerance, decode_tolerance;
};

std::vector<Case> Cases() {
  TinyModelSpec narrow;
  TinyModelSpec f16 = narrow, q4_0 = narrow, bf16 = narrow, tied = narrow, partial = narrow;
  f16.type = TensorType::kF16;
  q4_0.type = TensorType::kQ4_0;
  bf16.type = TensorType::kBF16;
  tied.shape.tied_output = true;
  partial.shape.width = 72;  // no multiple of 32: the one-row kernels whatever the rows
  partial.shape.head_dim = 18;
  const TinyModelSpec q4_k = WideSpec(TensorType::kQ4_K), q6_k = WideSpec(TensorType::kQ6_K);
  TinyModelSpec mixed = WideSpec(TensorType::kQ4_K);
  mixed.types = {{"attn_v.weight", TensorType::kQ6_K},
                 {"ffn_down.weight", TensorType::kQ6_K},
                 {"token_embd.weight", TensorType::kQ6_K}};
  mixed.shape.tied_output = true;
  const std::vector<std::string> on = {"FG_MMQ=1", "FG_MMQ_RAW=1", "FG_MMQ_RAW_NB=1"};
  std::vector<std::string> full = on;
  full.insert(full.end(), {"FG_MMQ_A_TRANSPOSE=1", "FG_MMQ_Q6K_NB=1", "FG_MMQ_A_FUSE=2",
                           "FG_MMQ_Q6K_EXP=1", "FG_MMQ_Q4K_DSC=1"});
  return {
      {"f32", narrow, {}, kF16KvCache, kF16KvCache},
      {"f32_tied", tied, {}, kF16KvCache, kF16KvCache},
      {"f32_partial", partial, {}, kF16KvCache, kF16KvCache},
      {"f16", f16, on, kF16Activations, kF16KvCache},
      {"bf16", bf16, {}, kF16Activations, kF16KvCache},
      // The tail takes int8 rows on every path of a quantized model.
      {"q4_0_mmq", q4_0, on, kQuantizedActivations, kQuantizedActivations},
      {"q4_0_f16", q4_0, {}, kQuantizedActivations, kQuantizedActivations},
      {"q4_K_mmq", q4_k, on, kQuantizedActivations, kQuantizedActivations},
      {"q4_K_generic", q4_k, {"FG_MMQ=1"}, kQuantizedActivations, kQuantizedActivations},
      {"q4_K_f16", q4_k, {}, kQuantizedActivations, kQuantizedActivations},
      {"q6_K", q6_k, on, kQuantizedActivations, kQuantizedActivations},
      {"mixed", mixed, on, kQuantizedActivations, kQuantizedActivations},
      {"mixed_full", mixed, full, kQuantizedActivations, kQuantizedActivations},
      {"q6_K_full", q6_k, full, kQuantizedActivations, kQuantizedActivations},
      {"f16_full", f16, full, kF16Activations, kF16KvCache},
      {"rows_forced", q4_k, {"FG_PREFILL_GEMM=0"}, kQuantizedActivations, kQuantizedActivations},
  };
}

class EngineLogits : public ::testing::TestWithParam<Case> {};

TEST_P(EngineLogits, MatchFloat64) {
  const Case& param = GetParam();
  const std::string bytes = TinyModelBytes(param.spec);
  const auto file = GgufFile::Parse(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(file.ok()) << file.status().message();
  const std::vector<int32_t> tokens = RandomTokens(40, 11);
  const auto want = testing::ReferenceForward(*file, tokens);
  TestEngine test(WriteTinyModel(param.spec), param.environment);
  const double at_once = RelativeError(test.Logits(tokens), want);
  const double pieces = RelativeError(test.Logits(tokens, 0, {.rows_per_forward = 17}), want);
  const double one_by_one = RelativeError(test.Logits(tokens, 0, {.rows_per_forward = 1}), want);
  RecordProperty("at_once", std::to_string(at_once));
  RecordProperty("one_by_one", std::to_string(one_by_one));
  EXPECT_LT(at_once, param.prefill_tolerance);
  EXPECT_LT(pieces, param.prefill_tolerance);
  EXPECT_LT(one_by_one, param.decode_tolerance);
  // A comparison that would also take the logits of other tokens shows nothing.
  const std::vector<int32_t> others(tokens.rbegin(), tokens.rend());
  EXPECT_GT(RelativeError(test.Logits(others), want), 1.0);
}

INSTANTIATE_TEST_SUITE_P(Types, EngineLogits, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace fg
