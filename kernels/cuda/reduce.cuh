// Reductions over a block in a fixed tree. blockDim.x is a multiple of 32, at most 1024; every
// thread calls and every thread gets the result. One barrier each: two reductions of one kernel
// take two arrays.
#pragma once

#include <cstdint>

namespace fg::cuda {

constexpr int kMostWarps = 32;
constexpr unsigned kWholeWarp = 0xFFFFFFFFu;

// Lane l with l^16, then l^8, l^4, l^2, l^1. An add is commutative, so all lanes get the same bits.
__device__ inline float WarpSum(float v) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) v = __fadd_rn(v, __shfl_xor_sync(kWholeWarp, v, step));
  return v;
}

// WarpSum of each warp, then WarpSum of the warps' sums in their order, +0 for those missing.
__device__ inline float BlockSum(float v, float (&sums)[kMostWarps]) {
  v = WarpSum(v);
  const unsigned lane = threadIdx.x % 32;
  if (lane == 0) sums[threadIdx.x / 32] = v;
  __syncthreads();
  return WarpSum(lane < blockDim.x / 32 ? sums[lane] : 0.0f);
}

__device__ inline uint32_t BlockMax(uint32_t v, uint32_t (&maxima)[kMostWarps]) {
  v = __reduce_max_sync(kWholeWarp, v);
  const unsigned lane = threadIdx.x % 32;
  if (lane == 0) maxima[threadIdx.x / 32] = v;
  __syncthreads();
  return __reduce_max_sync(kWholeWarp, lane < blockDim.x / 32 ? maxima[lane] : 0u);
}

// The larger, NaN if either is one.
__device__ inline float MaxKeepingNan(float a, float b) {
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}

}  // namespace fg::cuda
