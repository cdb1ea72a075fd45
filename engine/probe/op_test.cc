#include "engine/probe/op.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "engine/probe/op_testing.h"
#include "kernels/cpu/exp.h"
#include "kernels/formats/blocks.h"
#include "kernels/formats/encode.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

TEST_F(Op, ExpIsTheEnginesOwn) {
  const std::vector<float> x = {0.0f, -1.5f, 3.0f, -200.0f, 200.0f, std::nanf("")};
  Put("x", "f32", {6}, x);
  const auto answer = Run("exp");
  const std::vector<float> y = Values(answer);
  ASSERT_EQ(y.size(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const float expected = ExpF32(x[i]);
    EXPECT_EQ(std::memcmp(&y[i], &expected, sizeof(float)), 0) << i;
  }
  EXPECT_EQ((*answer)["outputs"]["y"]["dtype"], "f32");
  EXPECT_EQ((*answer)["outputs"]["y"]["shape"], Json::array({6}));
  EXPECT_EQ(Label(answer), "decode exp exp 1");
}

TEST_F(Op, LabelsAreThisOperationsAloneAndStayInTheLedger) {
  Put("x", "f32", {1}, std::vector<float>{1});
  ASSERT_TRUE(Run("exp").ok());
  EXPECT_EQ(Label(Run("exp")), "decode exp exp 1");
  EXPECT_EQ(ledger_.counts().dispatch.at({Phase::kDecode, "exp", "exp"}), 2u);
}

TEST_F(Op, MatmulMultipliesEachRowWithEachWeightRow) {
  Put("w", "f32", {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  Put("x", "f32", {2, 2}, std::vector<float>{1, 10, -1, 0.5f});
  Put("bias", "f32", {3}, std::vector<float>{100, 200, 300});
  const auto answer = Run("matmul");
  EXPECT_EQ(Values(answer), (std::vector<float>{121, 243, 365, 100, 199, 298}));
  EXPECT_EQ((*answer)["outputs"]["y"]["shape"], Json::array({2, 3}));
  EXPECT_EQ(Label(answer), "decode matmul row.f32 1");
  request_.inputs.erase("bias");
  EXPECT_EQ(Values(Run("matmul")), (std::vector<float>{21, 43, 65, 0, -1, -2}));
}

// The path table's labels, through the same dispatcher as a forward's nodes.
TEST_F(Op, MatmulTakesThePathOfTheGates) {
  constexpr int64_t kK = 256, kOut = 5, kRows = 16;
  const std::vector<float> values = Random(kK * kOut, 1);
  std::vector<uint8_t> w(static_cast<size_t>(RowBytes(TensorType::kQ4_K, kK) * kOut));
  for (int64_t row = 0; row < kOut; ++row) {
    ASSERT_TRUE(EncodeRow(TensorType::kQ4_K, values.data() + row * kK, kK,
                          w.data() + row * RowBytes(TensorType::kQ4_K, kK)));
  }
  Put("w", "q4_K", {kK, kOut}, w);
  Put("x", "f32", {kRows, kK}, Random(kRows * kK, 2));
  const std::vector<std::string> off = {"FG_MMQ=0", "FG_MMQ_RAW=0", "FG_MMQ_RAW_NB=0"};
  const std::vector<std::string> generic = {"FG_MMQ=1", "FG_MMQ_RAW=0", "FG_MMQ_RAW_NB=0"};
  const std::vector<std::string> raw = {"FG_MMQ=1", "FG_MMQ_RAW=1", "FG_MMQ_RAW_NB=0"};
  const std::vector<std::string> nibble = {"FG_MMQ=1", "FG_MMQ_RAW=1", "FG_MMQ_RAW_NB=1",
                                           "FG_MMQ_A_TRANSPOSE=0"};
  const auto f16_path = Run("matmul", off);
  EXPECT_EQ(Labels(f16_path), "prefill matmul gemm.f16.q4_K 1, prefill prepass prepass.f16 1");
  const std::vector<float> f16_values = Values(f16_path);
  const auto generic_path = Run("matmul", generic);
  const std::string prepass = ", prefill prepass prepass.rows 1";
  EXPECT_EQ(Labels(generic_path), "prefill matmul mmq.q4_K.generic 1" + prepass);
  const std::vector<float> int8_values = Values(generic_path);
  const auto raw_path = Run("matmul", raw);
  EXPECT_EQ(Labels(raw_path), "prefill matmul mmq.q4_K.raw 1" + prepass);
  EXPECT_EQ(Values(raw_path), int8_values);
  const auto nibble_path = Run("matmul", nibble);
  EXPECT_EQ(Labels(nibble_path), "prefill matmul mmq.q4_K.nb 1" + prepass);
  EXPECT_EQ(Values(nibble_path), int8_values);
  const std::vector<std::string> full = {"FG_MMQ=1", "FG_MMQ_RAW=1", "FG_MMQ_RAW_NB=1",
                                         "FG_MMQ_A_TRANSPOSE=1", "FG_MMQ_Q4K_DSC=1"};
  const auto full_path = Run("matmul", full);
  EXPECT_EQ(Labels(full_path),
            "prefill matmul mmq.q4_K.nb.bt.dsc 1, prefill prepass prepass.tiles 1");
  EXPECT_EQ(Values(full_path), int8_values);
  ASSERT_EQ(int8_values.size(), f16_values.size());
  EXPECT_NE(int8_values, f16_values);
  for (size_t i = 0; i < f16_values.size(); ++i) EXPECT_NEAR(int8_values[i], f16_values[i], 0.3);
}

TEST_F(Op, QuantizeRowsGivesPlaneBytes) {
  std::vector<float> x(64, 0.0f);
  x[0] = 127.0f;
  x[1] = -63.0f;
  Put("x", "f32", {1, 64}, x);
  const auto answer = Run("quantize_rows");
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  const Json& plane = (*answer)["outputs"]["plane"];
  EXPECT_EQ(plane["dtype"], "u8");
  EXPECT_EQ(plane["shape"], Json::array({1, 2, 40}));
  const auto bytes = ReadFile(plane["file"]);
  ASSERT_TRUE(bytes.ok());
  ASSERT_EQ(bytes->size(), 80u);
  ActivationChunk chunk;
  std::memcpy(&chunk, bytes->data(), sizeof(chunk));
  EXPECT_EQ(chunk.d, 1.0f);
  EXPECT_EQ(chunk.q[0], 127);
  EXPECT_EQ(chunk.q[1], -63);
  EXPECT_EQ(chunk.sum[0], 64);
  EXPECT_EQ(chunk.sum[1], 0);
}

TEST_F(Op, RmsNormAndSwigluAndTheirParameters) {
  Put("x", "f32", {1, 2}, std::vector<float>{3, 4});
  Put("w", "f32", {2}, std::vector<float>{1, 2});
  request_.params["eps"] = 0;
  const std::vector<float> norm = Values(Run("rms_norm"));
  ASSERT_EQ(norm.size(), 2u);
  EXPECT_NEAR(norm[0], 3 / std::sqrt(12.5), 1e-6);
  EXPECT_NEAR(norm[1], 8 / std::sqrt(12.5), 1e-6);
  request_ = {};
  Put("g", "f32", {1, 2}, std::vector<float>{0, 1});
  Put("u", "f32", {1, 2}, std::vector<float>{5, 2});
  const std::vector<float> gated = Values(Run("swiglu"));
  ASSERT_EQ(gated.size(), 2u);
  EXPECT_EQ(gated[0], 0);
  EXPECT_NEAR(gated[1], 2 / (1 + std::exp(-1.0)), 1e-6);
}

TEST_F(Op, RopeTurnsPairsByThePosition) {
  Put("x", "f32", {2, 1, 2}, std::vector<float>{1, 0, 1, 0});
  Put("positions", "i32", {2}, std::vector<int32_t>{0, 1});
  request_.params["base"] = 10000;
  const std::vector<float> y = Values(Run("rope"));
  ASSERT_EQ(y.size(), 4u);
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], 0);
  EXPECT_NEAR(y[2], std::cos(1.0), 1e-6);
  EXPECT_NEAR(y[3], std::sin(1.0), 1e-6);
}

TEST_F(Op, AttentionAveragesTheValuesItSees) {
  Put("q", "f32", {2, 1, 1}, std::vector<float>{0, 0});
  Put("keys", "f16", {3, 1, 1}, std::vector<uint16_t>(3, F32ToF16(1)));
  Put("values", "f16", {3, 1, 1}, std::vector<uint16_t>{F32ToF16(1), F32ToF16(3), F32ToF16(100)});
  Put("positions", "i32", {2}, std::vector<int32_t>{0, 1});
  EXPECT_EQ(Values(Run("attention")), (std::vector<float>{1, 2}));
}

TEST_F(Op, RefusesWhatDoesNotFit) {
  EXPECT_EQ(Error("matmull"), "op.op: unknown operation 'matmull'; did you mean 'matmul'?");
  EXPECT_EQ(Error("exp"), "op.inputs.x: is missing");
  Put("x", "f32", {2, 3}, std::vector<float>(6));
  EXPECT_EQ(Error("exp"), "op.inputs.x.shape: must have 1 dimensions, has 2");
  EXPECT_EQ(Error("rms_norm"), "op.inputs.w: is missing");
  Put("w", "f32", {4}, std::vector<float>(4));
  EXPECT_EQ(Error("rms_norm"), "op.params.eps: is missing");
  request_.params["eps"] = 1;
  EXPECT_EQ(Error("rms_norm"), "op.inputs.w.shape: must be [3], is [4]");
  Put("w", "f32", {3}, std::vector<float>(4));
  EXPECT_EQ(Error("rms_norm"),
            "op.inputs.w.file: " + folder_ + "/w.bin has 16 bytes, f32 [3] takes 12");
  Put("w", "f32", {3}, std::vector<float>(3));
  request_.params["eps"] = -1;
  EXPECT_EQ(Error("rms_norm"), "op.params.eps: must not be negative");
  request_.params["esp"] = 1;
  EXPECT_EQ(Error("rms_norm"), "op.params: rms_norm takes no 'esp'; did you mean 'eps'?");
  request_.params = {{"eps", 1}};
  Put("y", "f32", {3}, std::vector<float>(3));
  EXPECT_EQ(Error("rms_norm"), "op.inputs: rms_norm takes no 'y'; did you mean 'x'?");
}

TEST_F(Op, RefusesWeightsThatAreNone) {
  Put("x", "f32", {1, 100}, std::vector<float>(100));
  Put("w", "q4_k", {256, 1}, std::vector<uint8_t>(144));
  EXPECT_EQ(Error("matmul"), "op.inputs.w.dtype: unknown type 'q4_k'; did you mean 'q4_K'?");
  Put("w", "q4_K", {100, 1}, std::vector<uint8_t>(144));
  EXPECT_EQ(Error("matmul"),
            "op.inputs.w.shape[0]: q4_K rows are multiples of 256 values, found 100");
  Put("w", "q4_K", {256, 1}, std::vector<uint8_t>(144));
  EXPECT_EQ(Error("matmul"), "op.inputs.x.shape: must be [1, 256], is [1, 100]");
  Put("w", "q5_K", {256, 1}, std::vector<uint8_t>(176));
  Put("x", "f32", {1, 256}, std::vector<float>(256));
  EXPECT_EQ(Error("matmul"), "op.inputs.w: weight 'w': no kernels for type q5_K");
  Put("w", "f32", {256, 2}, std::vector<float>(512));
  Put("bias", "f32", {3}, std::vector<float>(3));
  EXPECT_EQ(Error("matmul"), "op.inputs.bias.shape: must be [2], is [3]");
  Put("bias", "f16", {2}, std::vector<float>(1));
  EXPECT_EQ(Error("matmul"), "op.inputs.bias.dtype: must be 'f32', is 'f16'");
}

TEST_F(Op, RefusesPositionsAndShapesThatKernelsCannotTake) {
  Put("x", "f32", {1, 33}, std::vector<float>(33));
  EXPECT_EQ(Error("quantize_rows"), "op.inputs.x.shape[1]: must be a multiple of 32, is 33");
  request_ = {};
  Put("x", "f32", {1, 1, 3}, std::vector<float>(3));
  Put("positions", "i32", {1}, std::vector<int32_t>{-1});
  request_.params["base"] = 10000;
  EXPECT_EQ(Error("rope"), "op.inputs.x.shape[2]: must be even, is 3");
  Put("x", "f32", {1, 1, 2}, std::vector<float>(2));
  EXPECT_EQ(Error("rope"), "op.inputs.positions: position -1 of row 0 is outside 0 to 1048575");
  Put("positions", "i32", {1}, std::vector<int32_t>{0});
  request_.params["base"] = 0;
  EXPECT_EQ(Error("rope"), "op.params.base: must be above 0");
  request_ = {};
  Put("q", "f32", {1, 3, 2}, std::vector<float>(6));
  Put("keys", "f16", {1, 2, 2}, std::vector<uint16_t>(4));
  Put("values", "f16", {1, 2, 2}, std::vector<uint16_t>(4));
  Put("positions", "i32", {1}, std::vector<int32_t>{0});
  EXPECT_EQ(Error("attention"), "op.inputs.q.shape[1]: 3 heads are no multiple of 2 kv heads");
  Put("q", "f32", {1, 2, 2}, std::vector<float>(4));
  Put("positions", "i32", {1}, std::vector<int32_t>{1});
  EXPECT_EQ(Error("attention"), "op.inputs.positions: position 1 of row 0 is outside 0 to 0");
}

TEST_F(Op, AMissingFileNamesItself) {
  request_.inputs["x"] = {folder_ + "/none.bin", "f32", {1}};
  const auto answer = Run("exp");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.status().kind(), ErrorKind::kIo);
  EXPECT_EQ(answer.status().message(), folder_ + "/none.bin: No such file or directory");
}

TEST(OpNames, AreThoseOfTheProtocol) {
  EXPECT_EQ(OpNames(), (std::vector<std::string>{"quantize_rows", "matmul", "rms_norm", "swiglu",
                                                 "rope", "attention", "exp", "quantize_tiles",
                                                 "rms_norm_tiles", "swiglu_tiles", "forward"}));
}

}  // namespace
}  // namespace fg
