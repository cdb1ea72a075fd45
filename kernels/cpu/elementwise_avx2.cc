#include "kernels/cpu/elementwise_avx2.h"

#include <immintrin.h>

#include "kernels/cpu/vector_avx2.h"

namespace fg::avx2 {

void Add(const float* a, const float* b, int64_t n, float* y) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i, _mm256_add_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i)));
  }
  const __m256i rest = FirstLanes(n - i);
  const __m256 sum =
      _mm256_add_ps(_mm256_maskload_ps(a + i, rest), _mm256_maskload_ps(b + i, rest));
  _mm256_maskstore_ps(y + i, rest, sum);
}

void StoreF16(const float* x, int64_t n, uint16_t* y) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), half);
  }
  for (; i < n; ++i) y[i] = _cvtss_sh(x[i], _MM_FROUND_TO_NEAREST_INT);
}

}  // namespace fg::avx2
