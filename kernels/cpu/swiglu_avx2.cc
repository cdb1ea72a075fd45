#include "kernels/cpu/swiglu_avx2.h"

#include <immintrin.h>

#include "kernels/cpu/vector_avx2.h"

namespace fg::avx2 {
namespace {

__m256 Gate(__m256 g, __m256 u) {
  const __m256 negated = _mm256_xor_ps(g, _mm256_set1_ps(-0.0f));
  const __m256 denominator = _mm256_add_ps(_mm256_set1_ps(1.0f), Exp(negated));
  return _mm256_mul_ps(_mm256_div_ps(g, denominator), u);
}

}  // namespace

void Swiglu(const float* g, const float* u, int64_t n, float* y) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i, Gate(_mm256_loadu_ps(g + i), _mm256_loadu_ps(u + i)));
  }
  if (i == n) return;
  const __m256i rest = FirstLanes(n - i);
  _mm256_maskstore_ps(y + i, rest,
                      Gate(_mm256_maskload_ps(g + i, rest), _mm256_maskload_ps(u + i, rest)));
}

}  // namespace fg::avx2
