#include "kernels/formats/dequantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/formats/blocks.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

std::vector<float> Decode(TensorType type, const void* blocks, int64_t values) {
  std::vector<float> out(static_cast<size_t>(values) + 1, -77.0f);
  EXPECT_TRUE(DequantizeRow(type, blocks, values, out.data()));
  EXPECT_EQ(out.back(), -77.0f) << "written behind the row";
  out.pop_back();
  return out;
}

TEST(Dequantize, Floats) {
  const float f32[3] = {1.5f, -0.0f, 1e-42f};
  EXPECT_EQ(Decode(TensorType::kF32, f32, 3), (std::vector<float>{1.5f, -0.0f, 1e-42f}));
  const uint16_t f16[3] = {0x3C00, 0xC000, 0x0001};
  EXPECT_EQ(Decode(TensorType::kF16, f16, 3), (std::vector<float>{1, -2, 0x1p-24f}));
  const uint16_t bf16[2] = {0x3F80, 0xC040};
  EXPECT_EQ(Decode(TensorType::kBF16, bf16, 2), (std::vector<float>{1, -3}));
}

TEST(Dequantize, Q4_0ByHand) {
  BlockQ4_0 blocks[2] = {};
  blocks[0].d = F32ToF16(0.5f);
  blocks[1].d = F32ToF16(-2.0f);
  blocks[0].q[0] = 0x9F;   // value 0: 15, value 16: 9
  blocks[0].q[15] = 0x08;  // value 15: 8, value 31: 0
  const std::vector<float> y = Decode(TensorType::kQ4_0, blocks, 64);
  EXPECT_EQ(y[0], 3.5f);
  EXPECT_EQ(y[16], 0.5f);
  EXPECT_EQ(y[15], 0.0f);
  EXPECT_EQ(y[31], -4.0f);
  EXPECT_EQ(y[1], -4.0f);
  EXPECT_EQ(y[32], 16.0f);
}

TEST(Dequantize, Q5_0ByHand) {
  BlockQ5_0 blocks[2] = {};
  blocks[0].d = F32ToF16(0.5f);
  blocks[1].d = F32ToF16(-2.0f);
  blocks[0].q[0] = 0x9F;         // low bits of value 0: 15, of value 16: 9
  blocks[0].q[15] = 0x08;        // low bits of value 15: 8, of value 31: 0
  blocks[0].h[0] = 0b0000'0001;  // value 0
  blocks[0].h[3] = 0b1000'0000;  // value 31
  const std::vector<float> y = Decode(TensorType::kQ5_0, blocks, 64);
  EXPECT_EQ(y[0], 7.5f);
  EXPECT_EQ(y[16], -3.5f);
  EXPECT_EQ(y[15], -4.0f);
  EXPECT_EQ(y[31], 0.0f);
  EXPECT_EQ(y[1], -8.0f);
  EXPECT_EQ(y[32], 32.0f);
}

TEST(Dequantize, Q8_0ByHand) {
  BlockQ8_0 blocks[2] = {};
  blocks[0].d = F32ToF16(0.5f);
  blocks[1].d = F32ToF16(-2.0f);
  blocks[0].q[0] = -128;
  blocks[0].q[31] = 127;
  blocks[1].q[16] = 3;
  const std::vector<float> y = Decode(TensorType::kQ8_0, blocks, 64);
  EXPECT_EQ(y[0], -64.0f);
  EXPECT_EQ(y[31], 63.5f);
  EXPECT_EQ(y[1], 0.0f);
  EXPECT_EQ(y[32 + 16], -6.0f);
}

TEST(Dequantize, Q4_KByHand) {
  BlockQ4_K block = {};
  block.d = F32ToF16(0.25f);
  block.dmin = F32ToF16(0.5f);
  for (int j = 0; j < 8; ++j) {
    PackScaleMin({static_cast<uint8_t>(8 * j + 1), static_cast<uint8_t>(63 - j)}, j, block.s);
  }
  block.q[0] = 0xA3;    // sub-block 0 value 0: 3, sub-block 1 value 0: 10
  block.q[127] = 0xF1;  // sub-block 6 value 31: 1, sub-block 7 value 31: 15
  const std::vector<float> y = Decode(TensorType::kQ4_K, &block, 256);
  EXPECT_EQ(y[0], 0.25f * 1 * 3 - 0.5f * 63);
  EXPECT_EQ(y[32], 0.25f * 9 * 10 - 0.5f * 62);
  EXPECT_EQ(y[6 * 32 + 31], 0.25f * 49 * 1 - 0.5f * 57);
  EXPECT_EQ(y[7 * 32 + 31], 0.25f * 57 * 15 - 0.5f * 56);
  EXPECT_EQ(y[4 * 32], -0.5f * 59);
}

TEST(Dequantize, Q6_KByHand) {
  BlockQ6_K block = {};
  block.d = F32ToF16(0.125f);
  for (int i = 0; i < 16; ++i) block.scales[i] = static_cast<int8_t>(i == 5 ? -128 : i + 1);
  block.ql[17] = 0x4E;            // half 0, l 17: low nibble value 17, high nibble value 81
  block.qh[17] = 0b11'01'00'10;   // values 17: 2, 49: 0, 81: 1, 113: 3
  block.ql[64 + 32 + 31] = 0x70;  // half 1, l 31: value 128 + 63: 0, value 128 + 127: 7
  const std::vector<float> y = Decode(TensorType::kQ6_K, &block, 256);
  EXPECT_EQ(y[17], 0.125f * 2 * ((0xE | 2 << 4) - 32));
  EXPECT_EQ(y[49], 0.125f * 4 * (0 - 32));
  EXPECT_EQ(y[81], 0.125f * -128 * ((4 | 1 << 4) - 32));
  EXPECT_EQ(y[113], 0.125f * 8 * ((0 | 3 << 4) - 32));
  EXPECT_EQ(y[128 + 63], 0.125f * 12 * (0 - 32));
  EXPECT_EQ(y[128 + 127], 0.125f * 16 * (7 - 32));
  EXPECT_EQ(y[0], 0.125f * 1 * -32);
}

// Value v of a block by the formulas of docs/gguf.md, each index spelled out anew, in double.
double ValueOf(TensorType type, const uint8_t* block, int v) {
  const auto half = [&](int at) {
    return static_cast<double>(F16ToF32(static_cast<uint16_t>(block[at] | block[at + 1] << 8)));
  };
  if (type == TensorType::kQ4_0) {
    const int byte = block[2 + v % 16];
    return half(0) * ((v < 16 ? byte % 16 : byte / 16) - 8);
  }
  if (type == TensorType::kQ5_0) {
    const int byte = block[6 + v % 16];
    const int fifth = block[2 + v / 8] >> v % 8 & 1;
    return half(0) * ((v < 16 ? byte % 16 : byte / 16) + 16 * fifth - 16);
  }
  if (type == TensorType::kQ8_0) return half(0) * static_cast<int8_t>(block[2 + v]);
  if (type == TensorType::kQ4_K) {
    const int j = v / 32;
    const uint8_t* s = block + 4;
    const int scale = j < 4 ? s[j] % 64 : s[j + 4] % 16 + s[j - 4] / 64 * 16;
    const int min = j < 4 ? s[j + 4] % 64 : s[j + 4] / 16 + s[j] / 64 * 16;
    const int byte = block[16 + j / 2 * 32 + v % 32];
    return half(0) * scale * (j % 2 == 0 ? byte % 16 : byte / 16) - half(2) * min;
  }
  const int h = v / 128, l = v % 32, c = v % 128 / 32;  // q6_K
  const int low = block[64 * h + (c % 2 == 1 ? 32 : 0) + l];
  const int high = block[128 + 32 * h + l] >> (2 * c) & 3;
  const int n = (c >= 2 ? low / 16 : low % 16) + 16 * high;
  const int scale = static_cast<int8_t>(block[192 + 8 * h + l / 16 + 2 * c]);
  return half(208) * scale * (n - 32);
}

TEST(Dequantize, EveryValueByTheFormula) {
  std::mt19937 engine(1);
  for (const TensorType type : {TensorType::kQ4_0, TensorType::kQ5_0, TensorType::kQ8_0,
                                TensorType::kQ4_K, TensorType::kQ6_K}) {
    const TensorTypeInfo& info = InfoOf(type);
    std::vector<uint8_t> block(static_cast<size_t>(info.block_bytes));
    std::vector<double> exact(static_cast<size_t>(info.block_values));
    for (int round = 0; round < 200; ++round) {
      for (uint8_t& byte : block) byte = static_cast<uint8_t>(engine());
      ASSERT_TRUE(DequantizeRowExact(type, block.data(), info.block_values, exact.data()));
      for (int v = 0; v < info.block_values; ++v) {
        const double want = ValueOf(type, block.data(), v);
        const double got = exact[static_cast<size_t>(v)];
        ASSERT_TRUE(got == want || (got != got && want != want))
            << info.name << " value " << v << ": " << got << " for " << want;
      }
    }
  }
}

// Random bits against double: f32 is the exact value rounded once, for every type.
TEST(Dequantize, F32IsTheExactValueRoundedOnce) {
  std::mt19937 engine(2);
  for (const TensorType type :
       {TensorType::kF32, TensorType::kF16, TensorType::kBF16, TensorType::kQ4_0, TensorType::kQ5_0,
        TensorType::kQ8_0, TensorType::kQ4_K, TensorType::kQ6_K}) {
    const int64_t values = 256 * 64;
    std::vector<uint8_t> bytes(static_cast<size_t>(RowBytes(type, values)));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(engine());
    std::vector<double> exact(static_cast<size_t>(values));
    ASSERT_TRUE(DequantizeRowExact(type, bytes.data(), values, exact.data()));
    const std::vector<float> y = Decode(type, bytes.data(), values);
    int finite = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      if (std::isnan(exact[i])) {
        ASSERT_TRUE(std::isnan(y[i])) << InfoOf(type).name << " value " << i;
      } else {
        ASSERT_EQ(y[i], static_cast<float>(exact[i])) << InfoOf(type).name << " value " << i;
        finite += std::isfinite(y[i]) ? 1 : 0;
      }
    }
    EXPECT_GT(finite, values / 2) << InfoOf(type).name;
  }
}

TEST(Dequantize, OtherTypesAreLeftAlone) {
  const uint8_t bytes[512] = {};
  for (const uint32_t id : {3u, 7u, 10u, 11u, 13u}) {
    float out = 5;
    double exact = 6;
    const auto type = static_cast<TensorType>(id);
    EXPECT_FALSE(DequantizeRow(type, bytes, 256, &out)) << id;
    EXPECT_FALSE(DequantizeRowExact(type, bytes, 256, &exact)) << id;
    EXPECT_EQ(out, 5);
    EXPECT_EQ(exact, 6);
  }
}

}  // namespace
}  // namespace fg
