#include "kernels/cpu/exp_avx2.h"

#include <immintrin.h>

#include "kernels/cpu/vector_avx2.h"

namespace fg::avx2 {

void ExpRow(const float* x, int64_t n, float shift, float* y) {
  const __m256 shifts = _mm256_set1_ps(shift);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i, Exp(_mm256_sub_ps(_mm256_loadu_ps(x + i), shifts)));
  }
  const __m256i rest = FirstLanes(n - i);
  _mm256_maskstore_ps(y + i, rest, Exp(_mm256_sub_ps(_mm256_maskload_ps(x + i, rest), shifts)));
}

}  // namespace fg::avx2
