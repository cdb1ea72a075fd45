#include "kernels/cpu/swiglu_avx512.h"

#include <immintrin.h>

#include "kernels/cpu/vector_avx512.h"

namespace fg::avx512 {
namespace {

__m512 Gate(__m512 g, __m512 u) {
  const __m512 negated = _mm512_xor_ps(g, _mm512_set1_ps(-0.0f));
  const __m512 denominator = _mm512_add_ps(_mm512_set1_ps(1.0f), Exp(negated));
  return _mm512_mul_ps(_mm512_div_ps(g, denominator), u);
}

}  // namespace

void Swiglu(const float* g, const float* u, int64_t n, float* y) {
  for (int64_t i = 0; i < n; i += 16) {
    const __mmask16 lanes = FirstLanes(n - i);
    const __m512 gate =
        Gate(_mm512_maskz_loadu_ps(lanes, g + i), _mm512_maskz_loadu_ps(lanes, u + i));
    _mm512_mask_storeu_ps(y + i, lanes, gate);
  }
}

}  // namespace fg::avx512
