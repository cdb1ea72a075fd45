#include "engine/backend/cpu/f16_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "engine/testing/test_engine.h"
#include "kernels/formats/blocks.h"
#include "kernels/formats/dequantize.h"
#include "kernels/formats/encode.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

std::vector<std::byte> Encode(TensorType type, const std::vector<float>& values, int64_t k) {
  const int64_t rows = static_cast<int64_t>(values.size()) / k;
  std::vector<std::byte> data(static_cast<size_t>(rows * RowBytes(type, k)));
  for (int64_t row = 0; row < rows; ++row) {
    EXPECT_TRUE(EncodeRow(type, &values[row * k], k, data.data() + row * RowBytes(type, k)));
  }
  return data;
}

TEST(F16Cache, HoldsTheRoundedValues) {
  std::mt19937 random(1);
  std::vector<float> values(256 * 7);
  for (float& value : values) value = static_cast<float>(random()) / 4e9f - 0.5f;
  for (const TensorType type : {TensorType::kQ4_0, TensorType::kQ4_K, TensorType::kQ6_K}) {
    const std::vector<std::byte> data = Encode(type, values, 256);
    for (const char* threads : {"FG_THREADS=1", "FG_THREADS=3"}) {
      Ledger ledger;
      MemoryBook memory;
      const Gates gates = testing::GatesOf({threads}, &ledger);
      CpuContext context(gates, &ledger, &memory);
      auto cache = BuildF16Cache(context, {"w", type, data.data(), 256, 7});
      ASSERT_TRUE(cache.ok()) << cache.status().message();
      EXPECT_EQ(memory.entry(MemoryCategory::kF16Cache).now, 4096u);  // 3584 in whole pages
      for (int64_t row = 0; row < 7; ++row) {
        float want[256];
        ASSERT_TRUE(DequantizeRow(type, data.data() + row * RowBytes(type, 256), 256, want));
        for (int i = 0; i < 256; ++i) {
          EXPECT_EQ(cache->as<uint16_t>()[row * 256 + i], F32ToF16(want[i]));
        }
      }
    }
  }
}

std::string Refusal(float d) {
  // q4_0: value = d * (n - 8); row 1 holds n = 15 at its column 33 alone, n = 8 elsewhere.
  std::vector<BlockQ4_0> blocks(4);
  for (BlockQ4_0& block : blocks) {
    block.d = F32ToF16(d);
    std::fill(std::begin(block.q), std::end(block.q), uint8_t{0x88});
  }
  blocks[3].q[1] = 0x8F;
  Ledger ledger;
  MemoryBook memory;
  const Gates gates = testing::GatesOf({}, &ledger);
  CpuContext context(gates, &ledger, &memory);
  const auto cache =
      BuildF16Cache(context, {"blk.0.ffn_up.weight", TensorType::kQ4_0, blocks.data(), 64, 2});
  EXPECT_EQ(memory.entry(MemoryCategory::kF16Cache).now, cache.ok() ? 4096u : 0u);
  return cache.status().message();
}

TEST(F16Cache, RefusesAValueBeyondF16ByName) {
  EXPECT_EQ(Refusal(10000.0f),
            "tensor 'blk.0.ffn_up.weight': value 70000.000000 at row 1, column 33 does not fit the "
            "f16 cache; keep this tensor in f32");
  EXPECT_EQ(Refusal(9352.0f), "");  // 65464 rounds to a finite f16
  // An infinite scale makes 0 * infinity: NaN at once.
  EXPECT_NE(Refusal(INFINITY).find("nan at row 0, column 0 does not fit"), std::string::npos);
}

}  // namespace
}  // namespace fg
