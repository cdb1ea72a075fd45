// ExpF32 of kernels/cpu/exp.h, the same bits for every f32.
#pragma once

#include <cstdint>

#include "kernels/cpu/exp.h"

namespace fg::cuda {

// Two steps are written otherwise than on the CPU, for the slow conversion unit: rint and the
// integer are read off a sum with 1.5*2^23 (only the sign of a zero n differs, which the fma that
// follows swallows), and 2^n is added to the exponent in one step (no x between kMin and kMax takes
// p * 2^n out of the normal numbers). Compared with ExpF32 over all 2^32 arguments: no difference.
__device__ inline float ExpSameBits(float x) {
  using namespace exp_constants;
  constexpr float kShift = 12582912.0f;
  const float shifted = __fadd_rn(__fmul_rn(x, kLog2E), kShift);
  const float n = __fsub_rn(shifted, kShift);
  float r = __fmaf_rn(-n, kLn2High, x);
  r = __fmaf_rn(-n, kLn2Low, r);
  float p = kC7;
  p = __fmaf_rn(p, r, kC6);
  p = __fmaf_rn(p, r, kC5);
  p = __fmaf_rn(p, r, kC4);
  p = __fmaf_rn(p, r, kC3);
  p = __fmaf_rn(p, r, kC2);
  p = __fmaf_rn(p, r, 1.0f);
  p = __fmaf_rn(p, r, 1.0f);
  float y = __uint_as_float(__float_as_uint(p) + (__float_as_uint(shifted) << 23));
  y = x < kMin ? 0.0f : y;
  y = x > kMax ? __uint_as_float(0x7F800000u) : y;
  return x == x ? y : __uint_as_float(0x7FC00000u);
}

// (g / (1 + exp(-g))) * u, IEEE division.
__device__ inline float SwigluOf(float g, float u) {
  return __fmul_rn(__fdiv_rn(g, __fadd_rn(1.0f, ExpSameBits(-g))), u);
}

}  // namespace fg::cuda
