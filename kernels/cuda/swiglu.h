#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/formats/blocks.h"

namespace fg::cuda {

// (g / (1 + exp(-g))) * u with the exp of docs/arithmetic.md (the polynomial of kernels/cpu/exp.h,
// same bits), IEEE division. g and u are multiplied by scale[row] first (powers of two; null: 1).
struct SwigluArgs {
  const float* g = nullptr;      // [rows][n]
  const float* u = nullptr;      // [rows][n]
  const float* scale = nullptr;  // [rows] or null
  int64_t rows = 0, n = 0;
  // What is written; any of them null.
  float* y = nullptr;                 // [rows][n], never g or u
  uint16_t* f16 = nullptr;            // [rows][n] as RowsToF16, with f16_scale
  float* f16_scale = nullptr;         // [rows]
  ActivationChunk* chunks = nullptr;  // [rows][n/32] as QuantizeRows; n a multiple of 32
};
cudaError_t Swiglu(const SwigluArgs& args, cudaStream_t stream);

}  // namespace fg::cuda
