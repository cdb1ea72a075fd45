#include "engine/gguf/synth_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/formats/dequantize.h"

namespace fg {
namespace {

constexpr int64_t kValues = 1 << 16;
const std::vector<TensorType> kTypes = {TensorType::kF32,  TensorType::kF16,  TensorType::kQ4_0,
                                        TensorType::kQ5_0, TensorType::kQ8_0, TensorType::kQ4_K,
                                        TensorType::kQ6_K};

std::string BlocksOf(TensorType type, float deviation, uint64_t seed) {
  std::string blocks(static_cast<size_t>(RowBytes(type, kValues)), '\x5A');
  EXPECT_TRUE(SynthBlocks(type, deviation, SynthRandom(seed), kValues / InfoOf(type).block_values,
                          blocks.data()));
  return blocks;
}

TEST(SynthBlocks, HaveTheDeviationAskedForAroundZero) {
  for (const TensorType type : kTypes) {
    for (const float deviation : {0.0073f, 0.03f, 1.0f}) {
      const std::string blocks = BlocksOf(type, deviation, 7);
      std::vector<float> values(kValues);
      ASSERT_TRUE(DequantizeRow(type, blocks.data(), kValues, values.data()));
      double sum = 0, squares = 0;
      for (const float value : values) {
        ASSERT_TRUE(std::isfinite(value));
        sum += value;
        squares += static_cast<double>(value) * value;
      }
      SCOPED_TRACE(std::string(InfoOf(type).name) + " " + std::to_string(deviation));
      EXPECT_NEAR(std::sqrt(squares / kValues) / deviation, 1.0, 0.05);
      EXPECT_NEAR(sum / kValues / deviation, 0.0, 0.02);
    }
  }
}

TEST(SynthBlocks, GoByTheSeedAlone) {
  for (const TensorType type : kTypes) {
    EXPECT_EQ(BlocksOf(type, 0.1f, 1), BlocksOf(type, 0.1f, 1)) << InfoOf(type).name;
    EXPECT_NE(BlocksOf(type, 0.1f, 1), BlocksOf(type, 0.1f, 2)) << InfoOf(type).name;
  }
}

TEST(SynthBlocks, ATypeThatNoMixGivesIsRefused) {
  char out[256];
  EXPECT_FALSE(SynthBlocks(TensorType::kQ2_K, 1, SynthRandom(1), 1, out));
}

TEST(SynthBlocks, AnOddNumberOfValuesEndsWhereItShould) {
  std::vector<float> values(6, 99.0f);
  SynthValues(2, 0.5f, SynthRandom(3), 5, values.data());
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(values[i], 2, 0.5);
  EXPECT_EQ(values[5], 99.0f);
}

TEST(SynthStream, IsItsOwnForEachTensorAndPiece) {
  std::vector<uint64_t> seen;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    for (uint64_t tensor = 0; tensor < 4; ++tensor) {
      for (uint64_t piece = 0; piece < 4; ++piece) {
        seen.push_back(SynthStream(seed, tensor, piece));
      }
    }
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
  // SplitMix64's first numbers from seed 0, as published with it.
  SynthRandom random(0);
  EXPECT_EQ(random.Next(), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(random.Next(), 0x6E789E6AA1B965F4u);
}

}  // namespace
}  // namespace fg
