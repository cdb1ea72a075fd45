// ExpF32 of kernels/cpu/exp.h, the same bits for every f32.
#pragma once

#include <cstdint>

#include "kernels/cpu/exp.h"

namespace fg::cuda {

// e^x for kMin <= x <= kMax, anything else elsewhere. Two steps are written otherwise than on the
// CPU, for the slow conversion unit: rint and the integer are read off a sum with 1.5*2^23 (only
// the sign of a zero n differs, which the fma that follows swallows), and 2^n is added to the
// exponent in one step (no x in the range takes p * 2^n out of the normal numbers). ExpSameBits was
// compared with ExpF32 over all 2^32 arguments, on the host: no difference.
__device__ inline float ExpInside(float x) {
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
  return __uint_as_float(__float_as_uint(p) + (__float_as_uint(shifted) << 23));
}

__device__ inline float ExpSameBits(float x) {
  using namespace exp_constants;
  float y = ExpInside(x);
  y = x < kMin ? 0.0f : y;
  y = x > kMax ? __uint_as_float(0x7F800000u) : y;
  return x == x ? y : __uint_as_float(0x7FC00000u);
}

// (g / (1 + exp(-g))) * u, IEEE division.
__device__ inline float SwigluOf(float g, float u) {
  return __fmul_rn(__fdiv_rn(g, __fadd_rn(1.0f, ExpSameBits(-g))), u);
}

// a / b as __fdiv_rn's own short way does it, less the look at its operands: right where neither
// they nor any step leave the normal numbers. NaN gives NaN.
__device__ inline float DivideInside(float a, float b) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(b));
  r = __fmaf_rn(r, __fmaf_rn(-b, r, 1.0f), r);
  const float q = __fmul_rn(a, r);
  return __fmaf_rn(r, __fmaf_rn(-b, q, a), q);
}

// Four SwigluOf, and one branch where the divisions alone would take four: with 2^-60 <= |g| <= 86
// the denominator lies in 1..2^125, the quotient and its rest above 2^-126. A NaN among them is
// passed over by the comparisons, and comes out as NaN either way.
__device__ inline float4 SwigluFour(float4 g, float4 u) {
  const float least = fminf(fminf(fabsf(g.x), fabsf(g.y)), fminf(fabsf(g.z), fabsf(g.w)));
  const float most = fmaxf(fmaxf(fabsf(g.x), fabsf(g.y)), fmaxf(fabsf(g.z), fabsf(g.w)));
  if (least >= 0x1p-60f && most <= 86.0f) [[likely]] {
    const auto inside = [](float a, float b) {
      return __fmul_rn(DivideInside(a, __fadd_rn(1.0f, ExpInside(-a))), b);
    };
    return make_float4(inside(g.x, u.x), inside(g.y, u.y), inside(g.z, u.z), inside(g.w, u.w));
  }
  // One at a time, going round: it is seldom run, and written out it would be most of the program.
  float4 y = make_float4(0, 0, 0, 0);
#pragma unroll 1
  for (int i = 0; i < 4; ++i) {
    y = make_float4(y.y, y.z, y.w, SwigluOf(g.x, u.x));
    g = make_float4(g.y, g.z, g.w, 0);
    u = make_float4(u.y, u.z, u.w, 0);
  }
  return y;
}

}  // namespace fg::cuda
