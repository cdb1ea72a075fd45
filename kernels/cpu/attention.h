// Causal attention of query rows over an f16 KV cache, grouped heads (GQA).
#pragma once

#include <cstdint>

#include "kernels/cpu/cpu_level.h"
#include "kernels/cpu/range.h"

namespace fg {

// Query heads that share keys and may be met at once: each needs a row of scores of its own.
constexpr int64_t kAttentionQueries = 6;

// Floats of scratch for rows that see `positions` positions at most.
constexpr int64_t AttentionScratch(int64_t positions) { return kAttentionQueries * positions; }

struct AttentionArgs {
  const float* q;  // [rows][ldq], heads of head_dim
  int64_t ldq;
  const uint16_t* keys;                     // [position][kv_heads][head_dim] f16
  const uint16_t* values;                   // the same shape
  const int32_t* positions;                 // [rows]; a row at position p sees 0..p
  int64_t rows, heads, kv_heads, head_dim;  // heads a multiple of kv_heads
  float* y;                                 // [rows][ldy], heads of head_dim
  int64_t ldy;
};

// Work item i of `items` (in [0, rows*heads)) is row i/heads, head i%heads; its kv head is
// head / (heads/kv_heads). score = dot(q, key) * (1/sqrt(head_dim) in f32); dot: 16 lanes by fma,
// tree 8, 4, 2, 1. Max first, p = exp(score - max), sum in 16 lanes over positions, P*V one
// accumulator per value by fma in ascending position, then one division. Any head_dim >= 1.
//
// A score that is NaN, found by a compare and never through max, makes every value of its row and
// head 0x7FC00000. Infinite scores and values take the formula's course, inf - inf included.
//
// scratch: AttentionScratch(max(positions) + 1) floats, not shared between concurrent calls. y
// overlaps no input.
void Attention(CpuLevel level, const AttentionArgs& args, Range items, float* scratch);

}  // namespace fg
