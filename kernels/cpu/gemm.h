// The f16 path of prefill: f16 weights (or the f16 cache of quantized ones) times rows rounded to
// f16, with f32 accumulation. And the f32 GEMM for f32 weights.
#pragma once

#include <cstdint>

#include "kernels/cpu/cpu_level.h"
#include "kernels/cpu/range.h"

namespace fg {

// Per row: k2 = the smallest integer >= 0 with max|x| * 2^-k2 < 32768 (a row with a NaN or infinity
// takes 0); a = f16(x * 2^-k2), nearest even. a[rows][k], exponents[rows] = k2.
void RoundRowsToF16(CpuLevel level, const float* x, int64_t ldx, int64_t rows, int64_t k,
                    uint16_t* a, int32_t* exponents);

// y[r*ldy + o] = 2^exponents[r] * sum_k(w[o][k] * a[r][k]) + bias[o], o in outs. One f32
// accumulator per output from +0, ascending k, fma; then the scale, then the bias, each rounded.
// w [out][k] f16 row-major, bias [out] or null. Any k >= 1.
void GemmF16(CpuLevel level, const uint16_t* w, const uint16_t* a, const int32_t* exponents,
             int64_t rows, int64_t k, const float* bias, Range outs, float* y, int64_t ldy);

// The same for bf16 weights (converted exactly to f32; the activations stay f16-rounded).
void GemmBF16(CpuLevel level, const uint16_t* w, const uint16_t* a, const int32_t* exponents,
              int64_t rows, int64_t k, const float* bias, Range outs, float* y, int64_t ldy);

// y[r*ldy + o] = sum_k(w[o][k] * x[r*ldx + k]) + bias[o]; one accumulator, ascending k, fma.
void GemmF32(CpuLevel level, const float* w, const float* x, int64_t ldx, int64_t rows, int64_t k,
             const float* bias, Range outs, float* y, int64_t ldy);

}  // namespace fg
