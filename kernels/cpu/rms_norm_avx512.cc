#include "kernels/cpu/rms_norm_avx512.h"

#include <immintrin.h>

#include "kernels/cpu/vector_avx512.h"

namespace fg::avx512 {
namespace {

// Sums of squares of kRows rows in 16 lanes each. A row is one chain of fma by the contract, which
// waits for itself: four rows fill the gaps. The masked lanes of the last step add a square of 0
// to a sum that is never -0, which leaves it as it is.
template <int kRows>
void Scales(const float* x, int64_t ldx, int64_t n, float eps, float* s) {
  __m512 sum[kRows];
  for (int r = 0; r < kRows; ++r) sum[r] = _mm512_setzero_ps();
  for (int64_t i = 0; i < n; i += 16) {
    const __mmask16 lanes = FirstLanes(n - i);
    for (int r = 0; r < kRows; ++r) {
      const __m512 v = _mm512_maskz_loadu_ps(lanes, x + r * ldx + i);
      sum[r] = _mm512_fmadd_ps(v, v, sum[r]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    const __m128 mean = _mm_set_ss(LaneTree(sum[r]) / static_cast<float>(n));
    const __m128 root = _mm_sqrt_ss(_mm_add_ss(mean, _mm_set_ss(eps)));
    s[r] = _mm_cvtss_f32(_mm_div_ss(_mm_set_ss(1.0f), root));
  }
}

}  // namespace

void RmsNormScales(const float* x, int64_t ldx, int64_t rows, int64_t n, float eps, float* s) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) Scales<4>(x + r * ldx, ldx, n, eps, s + r);
  for (; r < rows; ++r) Scales<1>(x + r * ldx, ldx, n, eps, s + r);
}

void RmsNormApply(const float* x, const float* w, int64_t n, float s, float* y) {
  const __m512 scale = _mm512_set1_ps(s);
  for (int64_t i = 0; i < n; i += 16) {
    const __mmask16 lanes = FirstLanes(n - i);
    const __m512 scaled = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, x + i), scale);
    _mm512_mask_storeu_ps(y + i, lanes, _mm512_mul_ps(scaled, _mm512_maskz_loadu_ps(lanes, w + i)));
  }
}

}  // namespace fg::avx512
