#include "kernels/cpu/attention_avx512.h"

#include <immintrin.h>

#include "kernels/cpu/exp_avx512.h"
#include "kernels/cpu/vector_avx512.h"

namespace fg::avx512 {
namespace {

constexpr int kKeys = 4;     // keys met at once
constexpr int kVectors = 4;  // vectors of output values met at once

// Positions that are asked for before their turn: rows of a head lie too far apart for the
// processor to see the pattern.
constexpr int64_t kAhead = 8;

// Query heads of one row that share their keys and values: these are converted to f32 once for all.
struct Group {
  const float* q;  // [count][head_dim]
  const uint16_t* keys;
  const uint16_t* values;
  int64_t stride;  // from a position to the next, of keys and values
  int64_t head_dim;
  int64_t seen;
  float* scores;  // [count][seen]
  float* y;       // [count][head_dim]
};

__m512 LoadHalf(const uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}

__m512 LoadHalf(__mmask16 used, const uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(used, p));
}

// Four sums of 16 lanes by the tree 8, 4, 2, 1, in the order of the arguments.
__m128 FourTrees(__m512 a, __m512 b, __m512 c, __m512 d) {
  const __m512 ab =
      _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
  const __m512 cd =
      _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xEE));
  // Per 128 bits: the four sums of a, of b, of c, of d.
  const __m512 four =
      _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xDD));
  const __m512 two = _mm512_add_ps(four, _mm512_permute_ps(four, 0x4E));
  const __m512 one = _mm512_add_ps(two, _mm512_permute_ps(two, 0xB1));
  const __m512i firsts = _mm512_castsi128_si512(_mm_setr_epi32(0, 4, 8, 12));
  return _mm512_castps512_ps128(_mm512_permutexvar_ps(firsts, one));
}

// sums[h] = query h times the four keys.
template <int kHeads>
void DotKeys(const Group& g, const uint16_t* const (&keys)[kKeys], __m128 (&sums)[kHeads]) {
  __m512 acc[kHeads][kKeys];
  for (int h = 0; h < kHeads; ++h) {
    for (int j = 0; j < kKeys; ++j) acc[h][j] = _mm512_setzero_ps();
  }
  int64_t d = 0;
  for (; d + 16 <= g.head_dim; d += 16) {
    __m512 key[kKeys];
    for (int j = 0; j < kKeys; ++j) {
      key[j] = LoadHalf(keys[j] + d);
      _mm_prefetch(keys[j] + d + kAhead * g.stride, _MM_HINT_T0);
    }
    for (int h = 0; h < kHeads; ++h) {
      const __m512 q = _mm512_loadu_ps(g.q + h * g.head_dim + d);
      for (int j = 0; j < kKeys; ++j) acc[h][j] = _mm512_fmadd_ps(q, key[j], acc[h][j]);
    }
  }
  if (d < g.head_dim) {
    const __mmask16 used = FirstLanes(g.head_dim - d);
    for (int h = 0; h < kHeads; ++h) {
      const __m512 q = _mm512_maskz_loadu_ps(used, g.q + h * g.head_dim + d);
      for (int j = 0; j < kKeys; ++j) {
        acc[h][j] = _mm512_mask3_fmadd_ps(q, LoadHalf(used, keys[j] + d), acc[h][j], used);
      }
    }
  }
  for (int h = 0; h < kHeads; ++h) {
    sums[h] = FourTrees(acc[h][0], acc[h][1], acc[h][2], acc[h][3]);
  }
}

// The scores of all heads, their largest per head, and whether one of them is NaN.
template <int kHeads>
void Scores(const Group& g, float (&largest)[kHeads], bool (&has_nan)[kHeads]) {
  const float root = _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(static_cast<float>(g.head_dim))));
  const __m128 scale = _mm_set1_ps(1.0f / root);
  __m128 max[kHeads];
  __mmask8 nan[kHeads];
  for (int h = 0; h < kHeads; ++h) {
    max[h] = _mm_castsi128_ps(_mm_set1_epi32(static_cast<int>(0xFF800000u)));
    nan[h] = 0;
  }
  for (int64_t i = 0; i < g.seen; i += kKeys) {
    const uint16_t* keys[kKeys];
    for (int j = 0; j < kKeys; ++j) {
      // Past the end the last key is met again: no new maximum, and its score is not stored.
      keys[j] = g.keys + (i + j < g.seen ? i + j : g.seen - 1) * g.stride;
    }
    const __mmask8 used = static_cast<__mmask8>(FirstLanes(g.seen - i) & 15);
    __m128 sums[kHeads];
    DotKeys<kHeads>(g, keys, sums);
    for (int h = 0; h < kHeads; ++h) {
      const __m128 s = _mm_mul_ps(sums[h], scale);
      nan[h] = static_cast<__mmask8>(nan[h] | _mm_cmp_ps_mask(s, s, _CMP_UNORD_Q));
      max[h] = _mm_max_ps(max[h], s);
      _mm_mask_storeu_ps(g.scores + h * g.seen + i, used, s);
    }
  }
  for (int h = 0; h < kHeads; ++h) {
    const __m128 two = _mm_max_ps(max[h], _mm_movehl_ps(max[h], max[h]));
    largest[h] = _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
    has_nan[h] = nan[h] != 0;
  }
}

float SumInLanes(const float* p, int64_t n) {
  __m512 lanes = _mm512_setzero_ps();
  for (int64_t i = 0; i < n; i += 16) {
    lanes = _mm512_add_ps(lanes, _mm512_maskz_loadu_ps(FirstLanes(n - i), p + i));
  }
  return LaneTree(lanes);
}

// Values d0.. of all heads, kWidth vectors of them, in registers over all positions. `used`: lanes
// of the last vector. The loops are unrolled by hand: g++ 12 else keeps the sums in memory too.
template <int kHeads, int kWidth>
void WeighValues(const Group& g, const float (&sums)[kHeads], int64_t d0, __mmask16 used) {
  __m512 acc[kHeads][kWidth];
  for (int h = 0; h < kHeads; ++h) {
    for (int v = 0; v < kWidth; ++v) acc[h][v] = _mm512_setzero_ps();
  }
  const uint16_t* row = g.values + d0;
  for (int64_t i = 0; i < g.seen; ++i, row += g.stride) {
    __m512 value[kWidth];
    for (int v = 0; v < kWidth; v += 2) {
      _mm_prefetch(row + kAhead * g.stride + 16 * v, _MM_HINT_T0);
    }
    for (int v = 0; v < kWidth - 1; ++v) value[v] = LoadHalf(row + 16 * v);
    value[kWidth - 1] = LoadHalf(used, row + 16 * (kWidth - 1));
    for (int h = 0; h < kHeads; ++h) {
      const __m512 weight = _mm512_set1_ps(g.scores[h * g.seen + i]);
      for (int v = 0; v < kWidth; ++v) acc[h][v] = _mm512_fmadd_ps(weight, value[v], acc[h][v]);
    }
  }
#pragma GCC unroll 8
  for (int h = 0; h < kHeads; ++h) {
    const __m512 sum = _mm512_set1_ps(sums[h]);
    float* y = g.y + h * g.head_dim + d0;
#pragma GCC unroll 8
    for (int v = 0; v < kWidth; ++v) {
      const __mmask16 lanes = v < kWidth - 1 ? 0xFFFF : used;
      _mm512_mask_storeu_ps(y + 16 * v, lanes, _mm512_div_ps(acc[h][v], sum));
    }
  }
}

template <int kHeads>
void AttendGroup(const Group& g) {
  float largest[kHeads], sums[kHeads];
  bool has_nan[kHeads];
  Scores<kHeads>(g, largest, has_nan);
  for (int h = 0; h < kHeads; ++h) {
    float* scores = g.scores + h * g.seen;
    ExpRow(scores, g.seen, largest[h], scores);
    sums[h] = SumInLanes(scores, g.seen);
  }
  int64_t d = 0;
  for (; d + 16 * kVectors <= g.head_dim; d += 16 * kVectors) {
    WeighValues<kHeads, kVectors>(g, sums, d, 0xFFFF);
  }
  for (; d < g.head_dim; d += 16) WeighValues<kHeads, 1>(g, sums, d, FirstLanes(g.head_dim - d));
  for (int h = 0; h < kHeads; ++h) {
    if (!has_nan[h]) continue;
    const float nan = _mm_cvtss_f32(_mm_castsi128_ps(_mm_set1_epi32(0x7FC00000)));
    for (int64_t i = 0; i < g.head_dim; ++i) g.y[h * g.head_dim + i] = nan;
  }
}

void AttendGroup(const Group& group, int64_t count) {
  static_assert(kAttentionQueries == 6);
  switch (count) {
    case 1:
      return AttendGroup<1>(group);
    case 2:
      return AttendGroup<2>(group);
    case 3:
      return AttendGroup<3>(group);
    case 4:
      return AttendGroup<4>(group);
    case 5:
      return AttendGroup<5>(group);
    default:
      return AttendGroup<6>(group);
  }
}

}  // namespace

void Attention(const AttentionArgs& args, Range items, float* scratch) {
  const int64_t shared = args.heads / args.kv_heads;
  for (int64_t item = items.begin; item < items.end;) {
    const int64_t row = item / args.heads;
    const int64_t head = item % args.heads;
    const int64_t together = shared - head % shared;  // up to the last head of these keys
    const int64_t left = together < items.end - item ? together : items.end - item;
    const int64_t parts = (left + kAttentionQueries - 1) / kAttentionQueries;
    const int64_t count = (left + parts - 1) / parts;
    const int64_t offset = head / shared * args.head_dim;
    AttendGroup({.q = args.q + row * args.ldq + head * args.head_dim,
                 .keys = args.keys + offset,
                 .values = args.values + offset,
                 .stride = args.kv_heads * args.head_dim,
                 .head_dim = args.head_dim,
                 .seen = static_cast<int64_t>(args.positions[row]) + 1,
                 .scores = scratch,
                 .y = args.y + row * args.ldy + head * args.head_dim},
                count);
    item += count;
  }
}

}  // namespace fg::avx512
