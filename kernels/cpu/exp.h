// Our own exp: the same bits on every level, no libm on a compared path.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/cpu/cpu_level.h"

namespace fg {

// n = rint(x*log2e); r = x - n*ln2 in two fma steps (Cody-Waite, high part with 12 trailing zero
// bits); e^r by its Taylor series to degree 7 (error below 2^-27 relative for |r| <= ln2/2); the
// result is p * 2^n, applied as two exact factors so that n = 128 works.
namespace exp_constants {
constexpr float kLog2E = 0x1.715476p+0f;
constexpr float kLn2High = 0x1.62ep-1f;     // 0.693115234375
constexpr float kLn2Low = 0x1.0bfbe8p-15f;  // ln2 - kLn2High
constexpr float kC7 = 1.0f / 5040.0f, kC6 = 1.0f / 720.0f, kC5 = 1.0f / 120.0f;
constexpr float kC4 = 1.0f / 24.0f, kC3 = 1.0f / 6.0f, kC2 = 0.5f;
constexpr float kMax = 0x1.62e42ep+6f;   // above: +inf
constexpr float kMin = -0x1.5d589ep+6f;  // below (result under 2^-126): +0
}  // namespace exp_constants

// e^x in f32. NaN in, NaN (0x7FC00000) out, decided by a compare. Above kMax +inf, below kMin +0.
// The definition; ExpRow of every level gives these bits.
inline float ExpF32(float x) {
  using namespace exp_constants;
  if (!(x == x)) return std::bit_cast<float>(0x7FC00000u);
  if (x > kMax) return std::numeric_limits<float>::infinity();
  if (x < kMin) return 0.0f;
  const float n = std::rint(x * kLog2E);
  float r = std::fma(-n, kLn2High, x);
  r = std::fma(-n, kLn2Low, r);
  float p = kC7;
  p = std::fma(p, r, kC6);
  p = std::fma(p, r, kC5);
  p = std::fma(p, r, kC4);
  p = std::fma(p, r, kC3);
  p = std::fma(p, r, kC2);
  p = std::fma(p, r, 1.0f);
  p = std::fma(p, r, 1.0f);
  const int32_t whole = static_cast<int32_t>(n);
  const int32_t first = whole >> 1;  // two factors: 2^128 itself is no f32
  const int32_t second = whole - first;
  const float a = std::bit_cast<float>(static_cast<uint32_t>(first + 127) << 23);
  const float b = std::bit_cast<float>(static_cast<uint32_t>(second + 127) << 23);
  return p * a * b;
}

// y[i] = ExpF32(x[i] - shift), i in [0, n). y may be x.
void ExpRow(CpuLevel level, const float* x, int64_t n, float shift, float* y);

}  // namespace fg
