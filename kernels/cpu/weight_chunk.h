// A 32-value chunk of quantized weights in one common form, for the plain kernels.
#pragma once

#include <cstdint>

#include "kernels/formats/blocks.h"
#include "kernels/formats/half.h"

namespace fg {

// isum = scale[0] * sum(q[0..15] * a) + scale[1] * sum(q[16..31] * a); ws and wm as in
// docs/arithmetic.md. wm is 0 and unused for a type without a min.
struct WeightChunk {
  int8_t q[32];
  int32_t scale[2];
  float ws;
  float wm;
};

// Each type: its block, chunks per block, whether it has a min, and chunk `c` of a block.
struct ChunksOfQ4_0 {
  using Block = BlockQ4_0;
  static constexpr int kChunks = 1;
  static constexpr bool kHasMin = false;

  static void Decode(const Block& block, int, WeightChunk* chunk) {
    for (int i = 0; i < 16; ++i) {
      chunk->q[i] = static_cast<int8_t>((block.q[i] & 15) - 8);
      chunk->q[i + 16] = static_cast<int8_t>((block.q[i] >> 4) - 8);
    }
    chunk->scale[0] = chunk->scale[1] = 1;
    chunk->ws = F16ToF32(block.d);
    chunk->wm = 0;
  }
};

struct ChunksOfQ5_0 {
  using Block = BlockQ5_0;
  static constexpr int kChunks = 1;
  static constexpr bool kHasMin = false;

  static void Decode(const Block& block, int, WeightChunk* chunk) {
    for (int i = 0; i < 32; ++i) chunk->q[i] = static_cast<int8_t>(CodeOfQ5_0(block, i) - 16);
    chunk->scale[0] = chunk->scale[1] = 1;
    chunk->ws = F16ToF32(block.d);
    chunk->wm = 0;
  }
};

struct ChunksOfQ8_0 {
  using Block = BlockQ8_0;
  static constexpr int kChunks = 1;
  static constexpr bool kHasMin = false;

  static void Decode(const Block& block, int, WeightChunk* chunk) {
    for (int i = 0; i < 32; ++i) chunk->q[i] = block.q[i];
    chunk->scale[0] = chunk->scale[1] = 1;
    chunk->ws = F16ToF32(block.d);
    chunk->wm = 0;
  }
};

struct ChunksOfQ4_K {
  using Block = BlockQ4_K;
  static constexpr int kChunks = 8;
  static constexpr bool kHasMin = true;

  static void Decode(const Block& block, int c, WeightChunk* chunk) {
    const uint8_t* q = block.q + 32 * (c / 2);
    const int shift = c % 2 == 0 ? 0 : 4;
    for (int i = 0; i < 32; ++i) chunk->q[i] = static_cast<int8_t>((q[i] >> shift) & 15);
    const ScaleMin sm = UnpackScaleMin(block.s, c);
    chunk->scale[0] = chunk->scale[1] = 1;
    chunk->ws = F16ToF32(block.d) * sm.scale;
    chunk->wm = -F16ToF32(block.dmin) * sm.min;
  }
};

struct ChunksOfQ6_K {
  using Block = BlockQ6_K;
  static constexpr int kChunks = 8;
  static constexpr bool kHasMin = false;

  static void Decode(const Block& block, int c, WeightChunk* chunk) {
    const int half = c / 4, quarter = c % 4;
    const uint8_t* ql = block.ql + 64 * half + 32 * (quarter % 2);
    const uint8_t* qh = block.qh + 32 * half;
    const int low_shift = quarter < 2 ? 0 : 4;
    for (int i = 0; i < 32; ++i) {
      const int n = ((ql[i] >> low_shift) & 15) | (((qh[i] >> (2 * quarter)) & 3) << 4);
      chunk->q[i] = static_cast<int8_t>(n - 32);
    }
    chunk->scale[0] = block.scales[2 * c];
    chunk->scale[1] = block.scales[2 * c + 1];
    chunk->ws = F16ToF32(block.d);
    chunk->wm = 0;
  }
};

inline int32_t ChunkDot(const WeightChunk& w, const ActivationChunk& a) {
  int32_t first = 0, second = 0;
  for (int i = 0; i < 16; ++i) first += w.q[i] * a.q[i];
  for (int i = 16; i < 32; ++i) second += w.q[i] * a.q[i];
  return w.scale[0] * first + w.scale[1] * second;
}

}  // namespace fg
