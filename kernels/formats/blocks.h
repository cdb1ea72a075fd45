// Quantized blocks as they lie in a file, little-endian, no padding. Layouts: docs/gguf.md.
#pragma once

#include <cstdint>

namespace fg {

constexpr int kBlock32 = 32;      // values of a q4_0 block, and of an activation chunk
constexpr int kSuperBlock = 256;  // values of a K-quant super-block

// value i (0-15): low nibble of q[i]; value i+16: high nibble; value = d * (n - 8).
struct BlockQ4_0 {
  uint16_t d;  // f16
  uint8_t q[16];
};
static_assert(sizeof(BlockQ4_0) == 18);

// Nibbles as in q4_0, bit i of h (little-endian) the fifth bit of value i; value = d * (n - 16).
struct BlockQ5_0 {
  uint16_t d;    // f16
  uint8_t h[4];  // bytes, for a u32 would want alignment that the file does not have
  uint8_t q[16];
};
static_assert(sizeof(BlockQ5_0) == 22);

// value = d * q.
struct BlockQ8_0 {
  uint16_t d;  // f16
  int8_t q[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

// 8 sub-blocks of 32; value = d*sc*n - dmin*m; s packs the six-bit scales and mins.
struct BlockQ4_K {
  uint16_t d;     // f16
  uint16_t dmin;  // f16
  uint8_t s[12];
  uint8_t q[128];
};
static_assert(sizeof(BlockQ4_K) == 144);

// 16 sub-blocks of 16; value = d * scale * (n - 32).
struct BlockQ6_K {
  uint8_t ql[128];
  uint8_t qh[64];
  int8_t scales[16];
  uint16_t d;  // f16
};
static_assert(sizeof(BlockQ6_K) == 210);

struct ScaleMin {
  uint8_t scale;  // 0..63
  uint8_t min;    // 0..63
};

// n (0..31) of value i (0..31).
constexpr int CodeOfQ5_0(const BlockQ5_0& block, int i) {
  const int low = i < 16 ? block.q[i] & 15 : block.q[i - 16] >> 4;
  return low | ((block.h[i / 8] >> (i % 8)) & 1) << 4;
}

// Six-bit scale and min of sub-block j (0..7) of q4_K and q5_K.
constexpr ScaleMin UnpackScaleMin(const uint8_t s[12], int j) {
  if (j < 4) return {static_cast<uint8_t>(s[j] & 63), static_cast<uint8_t>(s[j + 4] & 63)};
  return {static_cast<uint8_t>((s[j + 4] & 15) | ((s[j - 4] >> 6) << 4)),
          static_cast<uint8_t>((s[j + 4] >> 4) | ((s[j] >> 6) << 4))};
}

// The inverse: sets the bits of sub-block j (0..7) in s, whose bits for it were zero.
constexpr void PackScaleMin(ScaleMin pair, int j, uint8_t s[12]) {
  if (j < 4) {
    s[j] = static_cast<uint8_t>(s[j] | pair.scale);
    s[j + 4] = static_cast<uint8_t>(s[j + 4] | pair.min);
  } else {
    s[j + 4] = static_cast<uint8_t>(s[j + 4] | (pair.scale & 15) | ((pair.min & 15) << 4));
    s[j - 4] = static_cast<uint8_t>(s[j - 4] | ((pair.scale >> 4) << 6));
    s[j] = static_cast<uint8_t>(s[j] | ((pair.min >> 4) << 6));
  }
}

// One chunk of a quantized activation row: 32 consecutive values. docs/arithmetic.md.
struct ActivationChunk {
  int8_t q[32];    // -127..127
  float d;         // amax / 127, NaN where a value was not finite, 0 below 2^-100
  int16_t sum[2];  // of q[0..15] and q[16..31]
};
static_assert(sizeof(ActivationChunk) == 40);

}  // namespace fg
