#include <immintrin.h>

#include "kernels/cpu/quantize_rows_levels.h"

namespace fg {
namespace {

__m256i MaxOverLanes(__m256i v) {
  v = _mm256_max_epi32(v, _mm256_permute2x128_si256(v, v, 1));
  v = _mm256_max_epi32(v, _mm256_shuffle_epi32(v, 0x4E));
  return _mm256_max_epi32(v, _mm256_shuffle_epi32(v, 0xB1));
}

// The defect: four bits, multiples of 16 in -112..112.
__m256i Coarse(__m256i q) {
  const __m256 sixteenths = _mm256_mul_ps(_mm256_cvtepi32_ps(q), _mm256_set1_ps(0.0625f));
  const __m256i coarse = _mm256_slli_epi32(_mm256_cvtps_epi32(sixteenths), 4);
  return _mm256_max_epi32(_mm256_min_epi32(coarse, _mm256_set1_epi32(112)),
                          _mm256_set1_epi32(-112));
}

// The sums of q[0..15] and q[16..31] as two i16, in one i32.
int HalfSums(__m256i q) {
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), q);
  __m256i sums = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));  // 4 + 4 partial sums
  sums = _mm256_add_epi32(sums, _mm256_shuffle_epi32(sums, 0x4E));
  sums = _mm256_add_epi32(sums, _mm256_shuffle_epi32(sums, 0xB1));
  const int low = _mm_cvtsi128_si32(_mm256_castsi256_si128(sums));
  const int high = _mm_cvtsi128_si32(_mm256_extracti128_si256(sums, 1));
  return static_cast<int>((static_cast<unsigned>(low) & 0xFFFF) |
                          (static_cast<unsigned>(high) << 16));
}

void StoreZeros(ActivationChunk* chunk, int d_bits) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(chunk->q), _mm256_setzero_si256());
  _mm_storel_epi64(reinterpret_cast<__m128i*>(chunk->q + 32), _mm_cvtsi32_si128(d_bits));
}

template <KernelFault kFault>
void QuantizeChunk(const float* x, ActivationChunk* chunk) {
  __m256 v[4];
  __m256i largest = _mm256_setzero_si256();
  for (int i = 0; i < 4; ++i) {
    v[i] = _mm256_loadu_ps(x + 8 * i);
    // Magnitudes compared as integers: infinity and NaN come out on top, whatever their place.
    const __m256i bits = _mm256_and_si256(_mm256_castps_si256(v[i]), _mm256_set1_epi32(0x7FFFFFFF));
    largest = _mm256_max_epi32(largest, bits);
  }
  const __m128i top = _mm256_castsi256_si128(MaxOverLanes(largest));
  if (_mm_cvtsi128_si32(top) >= 0x7F800000) return StoreZeros(chunk, 0x7FC00000);
  const float amax = _mm_cvtss_f32(_mm_castsi128_ps(top));
  if (amax < 0x1p-100f) return StoreZeros(chunk, 0);

  const __m256 r = _mm256_set1_ps(127.0f / amax);
  __m256i q[4];
  for (int i = 0; i < 4; ++i) {
    q[i] = _mm256_cvtps_epi32(_mm256_mul_ps(v[i], r));  // rounds to even
    if constexpr (kFault == KernelFault::kCoarseQuant) q[i] = Coarse(q[i]);
  }
  // The packs interleave the 128-bit lanes; the permutation puts the dwords back in order.
  const __m256i bytes =
      _mm256_packs_epi16(_mm256_packs_epi32(q[0], q[1]), _mm256_packs_epi32(q[2], q[3]));
  const __m256i ordered =
      _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(chunk->q), ordered);
  chunk->d = amax / 127.0f;
  const int sums = HalfSums(ordered);
  chunk->sum[0] = static_cast<int16_t>(sums & 0xFFFF);
  chunk->sum[1] = static_cast<int16_t>(sums >> 16);
}

template <KernelFault kFault>
void Quantize(const float* x, int64_t ldx, int64_t rows, int64_t k, ActivationChunk* plane) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < k; i += kBlock32) QuantizeChunk<kFault>(x + row * ldx + i, plane++);
  }
}

}  // namespace

void QuantizeRowsAvx2(const float* x, int64_t ldx, int64_t rows, int64_t k, ActivationChunk* plane,
                      KernelFault fault) {
  if (fault == KernelFault::kCoarseQuant) {
    return Quantize<KernelFault::kCoarseQuant>(x, ldx, rows, k, plane);
  }
  Quantize<KernelFault::kNone>(x, ldx, rows, k, plane);
}

}  // namespace fg
