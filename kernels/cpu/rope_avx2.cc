#include "kernels/cpu/rope_avx2.h"

#include <immintrin.h>

#include "kernels/cpu/vector_avx2.h"

namespace fg::avx2 {

void RotateHead(float* head, int64_t pairs, const float* cosine, const float* sine) {
  for (int64_t i = 0; i < pairs; i += 8) {
    const __m256i lanes = FirstLanes(pairs - i);
    const __m256 x0 = _mm256_maskload_ps(head + i, lanes);
    const __m256 x1 = _mm256_maskload_ps(head + pairs + i, lanes);
    const __m256 c = _mm256_maskload_ps(cosine + i, lanes);
    const __m256 s = _mm256_maskload_ps(sine + i, lanes);
    _mm256_maskstore_ps(head + i, lanes, _mm256_fnmadd_ps(x1, s, _mm256_mul_ps(x0, c)));
    _mm256_maskstore_ps(head + pairs + i, lanes, _mm256_fmadd_ps(x1, c, _mm256_mul_ps(x0, s)));
  }
}

}  // namespace fg::avx2
