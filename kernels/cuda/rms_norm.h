// RMS norm over rows, with the residual sum before it and the form that the next matmul reads after
// it.
//
// ss: T lanes take the values of a row in turn (value i to lane i mod T, T a function of n alone),
// ss = fma(x, x, ss) ascending, then a fixed tree; s = 1/sqrt(ss/n + eps) IEEE; y = (x*s)*w.
// The tree: lanes 4t..4t+3 are thread t, (0 + 1) + (2 + 3); in each 32 threads t with t^16, then
// t^8, t^4, t^2, t^1; then so the sums of each 32 threads, in their order, +0 for those missing
// of 32.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/formats/blocks.h"

namespace fg::cuda {

constexpr int64_t kRmsNormMostLanes = 2048;
// T: enough that each lane takes four values, a multiple of 128 in 128..kRmsNormMostLanes.
constexpr int64_t RmsNormLanes(int64_t n) {
  const int64_t lanes = ((n + 3) / 4 + 127) / 128 * 128;
  return lanes < 128 ? 128 : lanes > kRmsNormMostLanes ? kRmsNormMostLanes : lanes;
}

struct RmsNormArgs {
  const float* x = nullptr;  // [rows][n]
  const float* add =
      nullptr;  // [rows][n] or null: the norm is of add*add_scale + x, rounded once each
  const float* add_scale = nullptr;  // [rows], powers of two, or null: 1
  float* sum = nullptr;           // [rows][n]: that sum; null where there is none; may be x or add
  const float* weight = nullptr;  // [n]
  float eps = 0;
  int64_t rows = 0, n = 0;
  // What is written of y; any of them null.
  float* y = nullptr;                 // [rows][n]
  uint16_t* f16 = nullptr;            // [rows][n] as RowsToF16, with f16_scale
  float* f16_scale = nullptr;         // [rows]
  ActivationChunk* chunks = nullptr;  // [rows][n/32] as QuantizeRows; n a multiple of 32
};
// x + add with add_scale null and x, add swapped is the same bits: an add is commutative.
cudaError_t RmsNorm(const RmsNormArgs& args, cudaStream_t stream);

}  // namespace fg::cuda
