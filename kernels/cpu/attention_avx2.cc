#include "kernels/cpu/attention_avx2.h"

#include <immintrin.h>

#include "kernels/cpu/exp_avx2.h"
#include "kernels/cpu/vector_avx2.h"

namespace fg::avx2 {
namespace {

constexpr int kKeys = 4;  // keys met at once: 8 accumulators hide the latency of an fma

__m256 LoadHalf(const uint16_t* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

// One query head. Where head_dim is no multiple of 16, `rest` holds its last values, padded with
// zeros: a lane without a value then adds 0 * 0.
struct Query {
  const float* q;
  int64_t whole;  // values in full steps of 16
  int64_t left;   // values after them, 0..15
  alignas(32) float rest[16];
};

void SetQuery(const float* q, int64_t head_dim, Query* query) {
  query->q = q;
  query->left = head_dim % 16;
  query->whole = head_dim - query->left;
  for (int64_t i = 0; i < 16; ++i) query->rest[i] = i < query->left ? q[query->whole + i] : 0.0f;
}

// Four sums of 8 lanes by the tree 4, 2, 1, in the order of the arguments.
__m128 FourTrees(__m256 a, __m256 b, __m256 c, __m256 d) {
  const __m256 ab =
      _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
  const __m256 cd =
      _mm256_add_ps(_mm256_permute2f128_ps(c, d, 0x20), _mm256_permute2f128_ps(c, d, 0x31));
  // Per half: the two sums of a (b in the upper half), then the two of c (d).
  const __m256 two =
      _mm256_add_ps(_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xEE));
  const __m256 one = _mm256_add_ps(two, _mm256_movehdup_ps(two));
  const __m128 acbd =
      _mm_shuffle_ps(_mm256_castps256_ps128(one), _mm256_extractf128_ps(one, 1), 0x88);
  return _mm_permute_ps(acbd, 0xD8);
}

__m128 DotKeys(const Query& query, const uint16_t* const (&keys)[kKeys]) {
  __m256 low[kKeys], high[kKeys];
  for (int j = 0; j < kKeys; ++j) low[j] = high[j] = _mm256_setzero_ps();
  for (int64_t k = 0; k < query.whole; k += 16) {
    const __m256 q0 = _mm256_loadu_ps(query.q + k);
    const __m256 q1 = _mm256_loadu_ps(query.q + k + 8);
    for (int j = 0; j < kKeys; ++j) {
      low[j] = _mm256_fmadd_ps(q0, LoadHalf(keys[j] + k), low[j]);
      high[j] = _mm256_fmadd_ps(q1, LoadHalf(keys[j] + k + 8), high[j]);
    }
  }
  if (query.left > 0) {
    const __m256 q0 = _mm256_load_ps(query.rest);
    const __m256 q1 = _mm256_load_ps(query.rest + 8);
    for (int j = 0; j < kKeys; ++j) {
      uint16_t rest[16] = {};
      for (int64_t i = 0; i < query.left; ++i) rest[i] = keys[j][query.whole + i];
      low[j] = _mm256_fmadd_ps(q0, LoadHalf(rest), low[j]);
      high[j] = _mm256_fmadd_ps(q1, LoadHalf(rest + 8), high[j]);
    }
  }
  return FourTrees(_mm256_add_ps(low[0], high[0]), _mm256_add_ps(low[1], high[1]),
                   _mm256_add_ps(low[2], high[2]), _mm256_add_ps(low[3], high[3]));
}

// scores[i] for i in [0, seen) and their largest; false where one is NaN. keys[i*stride] is key i.
bool Scores(const Query& query, float scale, const uint16_t* keys, int64_t stride, int64_t seen,
            float* scores, float* largest) {
  const __m128 scales = _mm_set1_ps(scale);
  __m128 max = _mm_castsi128_ps(_mm_set1_epi32(static_cast<int>(0xFF800000u)));
  __m128 nan = _mm_setzero_ps();
  for (int64_t i = 0; i < seen; i += kKeys) {
    const uint16_t* four[kKeys];
    for (int j = 0; j < kKeys; ++j) {
      // Past the end the last key is met again: no new maximum, and its score is not stored.
      four[j] = keys + (i + j < seen ? i + j : seen - 1) * stride;
    }
    const __m128 s = _mm_mul_ps(DotKeys(query, four), scales);
    nan = _mm_or_ps(nan, _mm_cmpunord_ps(s, s));
    max = _mm_max_ps(max, s);
    _mm_maskstore_ps(scores + i, _mm256_castsi256_si128(FirstLanes(seen - i)), s);
  }
  max = _mm_max_ps(max, _mm_movehl_ps(max, max));
  *largest = _mm_cvtss_f32(_mm_max_ss(max, _mm_movehdup_ps(max)));
  return _mm_movemask_ps(nan) == 0;
}

float SumInLanes(const float* p, int64_t n) {
  __m256 low = _mm256_setzero_ps();
  __m256 high = _mm256_setzero_ps();
  for (int64_t i = 0; i < n; i += 16) {
    low = _mm256_add_ps(low, _mm256_maskload_ps(p + i, FirstLanes(n - i)));
    if (n - i > 8) high = _mm256_add_ps(high, _mm256_maskload_ps(p + i + 8, FirstLanes(n - i - 8)));
  }
  return LaneTree(low, high);
}

// 8 * kVectors values of the output, kept in registers over all positions.
template <int kVectors>
void WeighValues(const float* p, float sum, const uint16_t* values, int64_t stride, int64_t seen,
                 float* y) {
  __m256 acc[kVectors];
  for (int v = 0; v < kVectors; ++v) acc[v] = _mm256_setzero_ps();
  for (int64_t i = 0; i < seen; ++i) {
    const __m256 weight = _mm256_broadcast_ss(p + i);
    const uint16_t* value = values + i * stride;
    for (int v = 0; v < kVectors; ++v) {
      acc[v] = _mm256_fmadd_ps(weight, LoadHalf(value + 8 * v), acc[v]);
    }
  }
  const __m256 sums = _mm256_set1_ps(sum);
  for (int v = 0; v < kVectors; ++v) _mm256_storeu_ps(y + 8 * v, _mm256_div_ps(acc[v], sums));
}

void WeighOneValue(const float* p, float sum, const uint16_t* values, int64_t stride, int64_t seen,
                   float* y) {
  __m128 acc = _mm_setzero_ps();
  for (int64_t i = 0; i < seen; ++i) {
    acc = _mm_fmadd_ss(_mm_set_ss(p[i]), _mm_set_ss(_cvtsh_ss(values[i * stride])), acc);
  }
  *y = _mm_cvtss_f32(acc) / sum;
}

void WeighAllValues(const float* p, float sum, const uint16_t* values, int64_t stride, int64_t seen,
                    int64_t head_dim, float* y) {
  int64_t d = 0;
  for (; d + 64 <= head_dim; d += 64) WeighValues<8>(p, sum, values + d, stride, seen, y + d);
  for (; d + 32 <= head_dim; d += 32) WeighValues<4>(p, sum, values + d, stride, seen, y + d);
  for (; d + 8 <= head_dim; d += 8) WeighValues<1>(p, sum, values + d, stride, seen, y + d);
  for (; d < head_dim; ++d) WeighOneValue(p, sum, values + d, stride, seen, y + d);
}

void AttendItem(const AttentionArgs& args, int64_t item, float* scores) {
  const int64_t row = item / args.heads;
  const int64_t head = item % args.heads;
  const int64_t dim = args.head_dim;
  const int64_t offset = head / (args.heads / args.kv_heads) * dim;
  const int64_t stride = args.kv_heads * dim;
  const int64_t seen = static_cast<int64_t>(args.positions[row]) + 1;
  float* y = args.y + row * args.ldy + head * dim;

  Query query;
  SetQuery(args.q + row * args.ldq + head * dim, dim, &query);
  const float root = _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(static_cast<float>(dim))));
  float max;
  if (!Scores(query, 1.0f / root, args.keys + offset, stride, seen, scores, &max)) {
    const float nan = _mm_cvtss_f32(_mm_castsi128_ps(_mm_set1_epi32(0x7FC00000)));
    for (int64_t d = 0; d < dim; ++d) y[d] = nan;
    return;
  }
  ExpRow(scores, seen, max, scores);
  WeighAllValues(scores, SumInLanes(scores, seen), args.values + offset, stride, seen, dim, y);
}

}  // namespace

void Attention(const AttentionArgs& args, Range items, float* scratch) {
  for (int64_t item = items.begin; item < items.end; ++item) AttendItem(args, item, scratch);
}

}  // namespace fg::avx2
