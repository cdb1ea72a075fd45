#include "kernels/cpu/exp_avx512.h"

#include <immintrin.h>

#include "kernels/cpu/vector_avx512.h"

namespace fg::avx512 {

void ExpRow(const float* x, int64_t n, float shift, float* y) {
  const __m512 shifts = _mm512_set1_ps(shift);
  for (int64_t i = 0; i < n; i += 16) {
    const __mmask16 lanes = FirstLanes(n - i);
    const __m512 shifted = _mm512_sub_ps(_mm512_maskz_loadu_ps(lanes, x + i), shifts);
    _mm512_mask_storeu_ps(y + i, lanes, Exp(shifted));
  }
}

}  // namespace fg::avx512
