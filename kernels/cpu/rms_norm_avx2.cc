#include "kernels/cpu/rms_norm_avx2.h"

#include <immintrin.h>

#include "kernels/cpu/vector_avx2.h"

namespace fg::avx2 {
namespace {

// The sum of squares in 16 lanes. The masked lanes of the last step add a square of 0 to a sum that
// is never -0, which leaves it as it is.
float SumOfSquares(const float* x, int64_t n) {
  __m256 low = _mm256_setzero_ps();
  __m256 high = _mm256_setzero_ps();
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m256 a = _mm256_loadu_ps(x + i);
    const __m256 b = _mm256_loadu_ps(x + i + 8);
    low = _mm256_fmadd_ps(a, a, low);
    high = _mm256_fmadd_ps(b, b, high);
  }
  const __m256 a = _mm256_maskload_ps(x + i, FirstLanes(n - i));
  low = _mm256_fmadd_ps(a, a, low);
  if (n - i > 8) {
    const __m256 b = _mm256_maskload_ps(x + i + 8, FirstLanes(n - i - 8));
    high = _mm256_fmadd_ps(b, b, high);
  }
  return LaneTree(low, high);
}

float Scale(const float* x, int64_t n, float eps) {
  const __m128 mean = _mm_set_ss(SumOfSquares(x, n) / static_cast<float>(n));
  const __m128 root = _mm_sqrt_ss(_mm_add_ss(mean, _mm_set_ss(eps)));
  return _mm_cvtss_f32(_mm_div_ss(_mm_set_ss(1.0f), root));
}

}  // namespace

void RmsNormScales(const float* x, int64_t ldx, int64_t rows, int64_t n, float eps, float* s) {
  for (int64_t r = 0; r < rows; ++r) s[r] = Scale(x + r * ldx, n, eps);
}

void RmsNormApply(const float* x, const float* w, int64_t n, float s, float* y) {
  const __m256 scale = _mm256_set1_ps(s);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps(x + i), scale);
    _mm256_storeu_ps(y + i, _mm256_mul_ps(scaled, _mm256_loadu_ps(w + i)));
  }
  if (i == n) return;
  const __m256i rest = FirstLanes(n - i);
  const __m256 scaled = _mm256_mul_ps(_mm256_maskload_ps(x + i, rest), scale);
  _mm256_maskstore_ps(y + i, rest, _mm256_mul_ps(scaled, _mm256_maskload_ps(w + i, rest)));
}

}  // namespace fg::avx2
