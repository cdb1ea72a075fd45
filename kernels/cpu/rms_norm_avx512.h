// The AVX-512 level of rms_norm.h, which dispatches to it.
#pragma once

#include <cstdint>

namespace fg::avx512 {

void RmsNormScales(const float* x, int64_t ldx, int64_t rows, int64_t n, float eps, float* s);
void RmsNormApply(const float* x, const float* w, int64_t n, float s, float* y);

}  // namespace fg::avx512
