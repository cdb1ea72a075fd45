// Rows of activations in the forms that matmuls read. docs/arithmetic.md "Activations", "The f16
// path".
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/formats/blocks.h"

namespace fg::cuda {

// plane[rows][k/32]: the contract's quantizer, bit for bit the CPU's. k a multiple of 32.
cudaError_t QuantizeRows(const float* x, int64_t rows, int64_t k, ActivationChunk* plane,
                         cudaStream_t stream);

// f16[rows][k] = x[r] * 2^-e rounded to nearest even, scale[rows] = 2^e; e the smallest integer >=
// 0 that brings the row's largest absolute value below 32768, 0 for a row with a NaN or an
// infinity. Bit for bit the CPU's.
cudaError_t RowsToF16(const float* x, int64_t rows, int64_t k, uint16_t* f16, float* scale,
                      cudaStream_t stream);

// y[rows][n] = y*scale[row] + bias[n], each rounded once; scale null: 1 (no multiply), bias null:
// none.
cudaError_t ScaleBias(float* y, int64_t rows, int64_t n, const float* scale, const float* bias,
                      cudaStream_t stream);

}  // namespace fg::cuda
