// The AVX2 level of rms_norm.h, which dispatches to it.
#pragma once

#include <cstdint>

namespace fg::avx2 {

void RmsNorm(const float* x, int64_t ldx, const float* w, int64_t rows, int64_t n, float eps,
             float* y, int64_t ldy);

}  // namespace fg::avx2
