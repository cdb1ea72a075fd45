#include <immintrin.h>

#include "kernels/cpu/quantize_rows_levels.h"

namespace fg {
namespace {

// The defect: four bits, multiples of 16 in -112..112.
inline __m512i Coarse(__m512i q) {
  const __m512 sixteenths = _mm512_mul_ps(_mm512_cvtepi32_ps(q), _mm512_set1_ps(0.0625f));
  const __m512i coarse = _mm512_slli_epi32(_mm512_cvtps_epi32(sixteenths), 4);
  return _mm512_max_epi32(_mm512_min_epi32(coarse, _mm512_set1_epi32(112)),
                          _mm512_set1_epi32(-112));
}

inline void StoreZeros(ActivationChunk* chunk, int d_bits) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(chunk->q), _mm256_setzero_si256());
  _mm_storel_epi64(reinterpret_cast<__m128i*>(chunk->q + 32), _mm_cvtsi32_si128(d_bits));
}

template <KernelFault kFault>
void QuantizeChunk(const float* x, ActivationChunk* chunk) {
  const __m512 first = _mm512_loadu_ps(x);
  const __m512 second = _mm512_loadu_ps(x + 16);
  // Magnitudes compared as integers: infinity and NaN come out on top, whatever their place.
  const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
  const int top = _mm512_reduce_max_epi32(
      _mm512_max_epi32(_mm512_and_si512(_mm512_castps_si512(first), magnitude),
                       _mm512_and_si512(_mm512_castps_si512(second), magnitude)));
  if (top >= 0x7F800000) return StoreZeros(chunk, 0x7FC00000);
  const float amax = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(top)));
  if (amax < 0x1p-100f) return StoreZeros(chunk, 0);

  const __m512 r = _mm512_set1_ps(127.0f / amax);
  __m512i q0 = _mm512_cvtps_epi32(_mm512_mul_ps(first, r));  // rounds to even
  __m512i q1 = _mm512_cvtps_epi32(_mm512_mul_ps(second, r));
  if constexpr (kFault == KernelFault::kCoarseQuant) {
    q0 = Coarse(q0);
    q1 = Coarse(q1);
  }
  const __m128i low = _mm512_cvtepi32_epi8(q0), high = _mm512_cvtepi32_epi8(q1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(chunk->q), low);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(chunk->q + 16), high);
  chunk->d = amax / 127.0f;
  // Sums of absolute differences from zero add bytes; 128 a byte makes them unsigned.
  const __m256i bytes = _mm256_xor_si256(_mm256_set_m128i(high, low), _mm256_set1_epi8(-128));
  const __m256i sums = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
  const __m128i low_sums = _mm256_castsi256_si128(sums);
  const __m128i high_sums = _mm256_extracti128_si256(sums, 1);
  const int offset = 16 * 128;
  chunk->sum[0] =
      static_cast<int16_t>(_mm_cvtsi128_si32(low_sums) + _mm_extract_epi32(low_sums, 2) - offset);
  chunk->sum[1] =
      static_cast<int16_t>(_mm_cvtsi128_si32(high_sums) + _mm_extract_epi32(high_sums, 2) - offset);
}

template <KernelFault kFault>
void Quantize(const float* x, int64_t ldx, int64_t rows, int64_t k, ActivationChunk* plane) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < k; i += kBlock32) QuantizeChunk<kFault>(x + row * ldx + i, plane++);
  }
}

}  // namespace

void QuantizeRowsAvx512(const float* x, int64_t ldx, int64_t rows, int64_t k,
                        ActivationChunk* plane, KernelFault fault) {
  if (fault == KernelFault::kCoarseQuant) {
    return Quantize<KernelFault::kCoarseQuant>(x, ldx, rows, k, plane);
  }
  Quantize<KernelFault::kNone>(x, ldx, rows, k, plane);
}

}  // namespace fg
