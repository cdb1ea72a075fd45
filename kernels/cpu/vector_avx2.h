// What the AVX2 kernels share. For *_avx2.cc alone: everything here is static, so that no copy
// built for AVX2 can become the one that the linker keeps for all.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/exp.h"

namespace fg::avx2 {

// The first `count` of 8 lanes, for maskload and maskstore; count <= 0 is none, >= 8 all.
static inline __m256i FirstLanes(int64_t count) {
  const int bounded = count < 8 ? static_cast<int>(count) : 8;
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(bounded), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

// Lanes 0-7 and 8-15 to their sum by the tree 8, 4, 2, 1 (LaneTree of lanes.h).
static inline float LaneTree(__m256 low, __m256 high) {
  const __m256 eight = _mm256_add_ps(low, high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// ExpF32 of exp.h, lane by lane. Lanes outside its range compute what nobody reads.
static inline __m256 Exp(__m256 x) {
  using namespace exp_constants;
  const __m256 one = _mm256_set1_ps(1.0f);
  const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(kLog2E)),
                                   _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(kLn2High), x);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(kLn2Low), r);
  __m256 p = _mm256_set1_ps(kC7);
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(kC6));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(kC5));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(kC4));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(kC3));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(kC2));
  p = _mm256_fmadd_ps(p, r, one);
  p = _mm256_fmadd_ps(p, r, one);

  const __m256i bias = _mm256_set1_epi32(127);
  const __m256i whole = _mm256_cvttps_epi32(n);
  const __m256i first = _mm256_srai_epi32(whole, 1);
  const __m256i second = _mm256_sub_epi32(whole, first);
  const __m256i a = _mm256_slli_epi32(_mm256_add_epi32(first, bias), 23);
  const __m256i b = _mm256_slli_epi32(_mm256_add_epi32(second, bias), 23);
  __m256 y = _mm256_mul_ps(_mm256_mul_ps(p, _mm256_castsi256_ps(a)), _mm256_castsi256_ps(b));

  const __m256 infinity = _mm256_castsi256_ps(_mm256_set1_epi32(0x7F800000));
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FC00000));
  y = _mm256_blendv_ps(y, infinity, _mm256_cmp_ps(x, _mm256_set1_ps(kMax), _CMP_GT_OQ));
  y = _mm256_andnot_ps(_mm256_cmp_ps(x, _mm256_set1_ps(kMin), _CMP_LT_OQ), y);
  return _mm256_blendv_ps(y, nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

}  // namespace fg::avx2
