// What the AVX-512 kernels share. For *_avx512.cc alone: everything here is static, so that no copy
// built for AVX-512 can become the one that the linker keeps for all.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/exp.h"

namespace fg::avx512 {

// The first `count` of 16 lanes; count <= 0 is none, >= 16 all.
static inline __mmask16 FirstLanes(int64_t count) {
  if (count >= 16) return 0xFFFF;
  return count <= 0 ? 0 : static_cast<__mmask16>((1u << count) - 1);
}

// 16 lanes to their sum by the tree 8, 4, 2, 1 (LaneTree of lanes.h).
static inline float LaneTree(__m512 lanes) {
  const __m256 eight =
      _mm256_add_ps(_mm512_castps512_ps256(lanes), _mm512_extractf32x8_ps(lanes, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// ExpF32 of exp.h, lane by lane. Lanes outside its range compute what nobody reads. The results
// in the range are normal, so that scaling by 2^n is exact in one step too.
static inline __m512 Exp(__m512 x) {
  using namespace exp_constants;
  const __m512 one = _mm512_set1_ps(1.0f);
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(kLog2E)),
                                        _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(kLn2High), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(kLn2Low), r);
  __m512 p = _mm512_set1_ps(kC7);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(kC6));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(kC5));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(kC4));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(kC3));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(kC2));
  p = _mm512_fmadd_ps(p, r, one);
  p = _mm512_fmadd_ps(p, r, one);
  __m512 y = _mm512_scalef_ps(p, n);

  const __m512 infinity = _mm512_castsi512_ps(_mm512_set1_epi32(0x7F800000));
  const __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32(0x7FC00000));
  const __mmask16 above = _mm512_cmp_ps_mask(x, _mm512_set1_ps(kMax), _CMP_GT_OQ);
  const __mmask16 below = _mm512_cmp_ps_mask(x, _mm512_set1_ps(kMin), _CMP_LT_OQ);
  y = _mm512_mask_mov_ps(y, above, infinity);
  y = _mm512_mask_mov_ps(y, below, _mm512_setzero_ps());
  return _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), nan);
}

}  // namespace fg::avx512
