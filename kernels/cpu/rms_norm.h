#pragma once

#include <cstdint>

#include "kernels/cpu/cpu_level.h"

namespace fg {

// y[rows][ldy] from x[rows][ldx], w[n]: 16 lanes, lane l takes i = l mod 16 ascending with
// ss = fma(x, x, ss), then the tree 8, 4, 2, 1; s = 1/sqrt(ss/n + eps); y = (x*s)*w. Any n >= 1.
void RmsNorm(CpuLevel level, const float* x, int64_t ldx, const float* w, int64_t rows, int64_t n,
             float eps, float* y, int64_t ldy);

// The two halves of it, for those who make a row piece by piece: s[rows], and for one row
// y[i] = (x[i]*s)*w[i] for i in [0, n).
void RmsNormScales(CpuLevel level, const float* x, int64_t ldx, int64_t rows, int64_t n, float eps,
                   float* s);
void RmsNormApply(CpuLevel level, const float* x, const float* w, int64_t n, float s, float* y);

}  // namespace fg
