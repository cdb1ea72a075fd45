// The AVX-512 level of gemm.h, which dispatches to it.
#pragma once

#include <cstdint>

#include "kernels/cpu/range.h"

namespace fg::avx512 {

void GemmF16(const uint16_t* w, const uint16_t* a, const int32_t* exponents, int64_t rows,
             int64_t k, const float* bias, Range outs, float* y, int64_t ldy);
void GemmBF16(const uint16_t* w, const uint16_t* a, const int32_t* exponents, int64_t rows,
              int64_t k, const float* bias, Range outs, float* y, int64_t ldy);
void GemmF32(const float* w, const float* x, int64_t ldx, int64_t rows, int64_t k,
             const float* bias, Range outs, float* y, int64_t ldy);

}  // namespace fg::avx512
