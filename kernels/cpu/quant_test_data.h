// Seeded inputs for the tests and benchmarks of the quantized kernels.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/formats/blocks.h"
#include "kernels/formats/half.h"
#include "kernels/formats/tensor_type.h"

namespace fg::testing {

inline std::vector<float> Gaussian(int64_t count, uint32_t seed, float sigma = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0, sigma);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(engine);
  return values;
}

// Blocks of random bits, so that every code, scale and min occurs, negative d included; only d and
// dmin are tame. [rows][k].
inline std::vector<uint8_t> RandomBlocks(TensorType type, int64_t rows, int64_t k, uint32_t seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0, 0.01f);
  std::vector<uint8_t> bytes(static_cast<size_t>(rows * RowBytes(type, k)));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(engine());
  const auto set_half = [&](size_t offset) {
    const uint16_t half = F32ToF16(normal(engine));
    std::memcpy(bytes.data() + offset, &half, sizeof(half));
  };
  const size_t block_bytes = static_cast<size_t>(InfoOf(type).block_bytes);
  for (size_t at = 0; at < bytes.size(); at += block_bytes) {
    set_half(at + (type == TensorType::kQ6_K ? 208 : 0));
    if (type == TensorType::kQ4_K) set_half(at + 2);
  }
  return bytes;
}

// Rows of activations with what real ones have: noise, a few values 100 times as large, a stretch
// of zeros that fills a chunk, tiny values. [rows][k], k >= 256.
inline std::vector<float> Activations(int64_t rows, int64_t k, uint32_t seed) {
  std::vector<float> x = Gaussian(rows * k, seed);
  for (int64_t r = 0; r < rows; ++r) {
    float* row = x.data() + r * k;
    row[(7 * r) % k] *= 100;
    row[(31 * r + 200) % k] *= -100;
    if (r % 3 == 1) std::memset(row + 64, 0, 32 * sizeof(float));
    if (r % 5 == 2) {
      for (int64_t i = 128; i < 160; ++i) row[i] *= 1e-35f;
    }
  }
  return x;
}

// The words between and around outputs that nobody may write: a NaN of a pattern of its own.
constexpr uint32_t kSentinel = 0x7FBADBAD;
inline float Sentinel() { return std::bit_cast<float>(kSentinel); }

inline uint32_t Bits(float value) { return std::bit_cast<uint32_t>(value); }

// Equal bits, or both NaN: which of two NaN operands an instruction passes on is not promised.
inline bool SameValue(float a, float b) { return (a != a && b != b) || Bits(a) == Bits(b); }

}  // namespace fg::testing
