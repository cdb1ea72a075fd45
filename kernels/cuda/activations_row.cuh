// A row of activations in the registers of a block, four neighbouring values a thread and step, and
// what is written of it. Shared by RmsNorm, RowsToF16 and Swiglu.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/quantize.cuh"
#include "kernels/cuda/reduce.cuh"

namespace fg::cuda {

// Four values from `at` on, zeros from n on; at a multiple of 4. kVector: `from` is 16-byte aligned
// and n a multiple of 4.
template <bool kVector, typename Index>
__device__ inline float4 Load4(const float* from, Index at, Index n) {
  float4 v = make_float4(0, 0, 0, 0);
  if constexpr (kVector) {
    if (at < n) v = *reinterpret_cast<const float4*>(from + at);
  } else {
    if (at < n) v.x = from[at];
    if (at + 1 < n) v.y = from[at + 1];
    if (at + 2 < n) v.z = from[at + 2];
    if (at + 3 < n) v.w = from[at + 3];
  }
  return v;
}

template <bool kVector, typename Index>
__device__ inline void Store4(float* to, Index at, Index n, float4 v) {
  if constexpr (kVector) {
    if (at < n) *reinterpret_cast<float4*>(to + at) = v;
  } else {
    if (at < n) to[at] = v.x;
    if (at + 1 < n) to[at + 1] = v.y;
    if (at + 2 < n) to[at + 2] = v.z;
    if (at + 3 < n) to[at + 3] = v.w;
  }
}

// Four f16, two in each word. kVector: `to` is 8-byte aligned and n a multiple of 4.
template <bool kVector, typename Index>
__device__ inline void Store4(uint16_t* to, Index at, Index n, uint2 v) {
  if constexpr (kVector) {
    if (at < n) *reinterpret_cast<uint2*>(to + at) = v;
  } else {
    if (at < n) to[at] = static_cast<uint16_t>(v.x);
    if (at + 1 < n) to[at + 1] = static_cast<uint16_t>(v.x >> 16);
    if (at + 2 < n) to[at + 2] = static_cast<uint16_t>(v.y);
    if (at + 3 < n) to[at + 3] = static_cast<uint16_t>(v.y >> 16);
  }
}

__device__ inline float4 Times(float4 v, float s) {
  return make_float4(__fmul_rn(v.x, s), __fmul_rn(v.y, s), __fmul_rn(v.z, s), __fmul_rn(v.w, s));
}

__device__ inline float Largest(float amax, float4 v) {
  amax = MaxKeepingNan(amax, fabsf(v.x));
  amax = MaxKeepingNan(amax, fabsf(v.y));
  amax = MaxKeepingNan(amax, fabsf(v.z));
  return MaxKeepingNan(amax, fabsf(v.w));
}

// What is written of rows [rows][n]; any of them null. f16 comes with f16_scale.
struct RowOutputs {
  float* y;
  uint16_t* f16;
  float* f16_scale;
  ActivationChunk* chunks;  // n a multiple of 32

  // Of one row.
  __device__ RowOutputs Row(int64_t row, int n) const {
    return {y == nullptr ? nullptr : y + row * n, f16 == nullptr ? nullptr : f16 + row * n,
            f16_scale == nullptr ? nullptr : f16_scale + row,
            chunks == nullptr ? nullptr : chunks + row * (n / kBlock32)};
  }
};

// Writes four values from `at` on in every form. `out` is of the row. The whole warp calls, lanes
// of neighbouring `at`; the first lane's is a multiple of 32.
template <bool kVector>
__device__ inline void WriteFour(const RowOutputs& out, int at, int n, float4 v,
                                 const RowScale& scale) {
  if (out.y != nullptr) Store4<kVector>(out.y, at, n, v);
  if (out.f16 != nullptr) {
    const uint2 pairs = make_uint2(ScaledF16Pair(scale, v.x, v.y), ScaledF16Pair(scale, v.z, v.w));
    Store4<kVector>(out.f16, at, n, pairs);
  }
  if (out.chunks != nullptr) {
    const float four[4] = {v.x, v.y, v.z, v.w};
    QuantizeGroup<4>(four, at < n ? out.chunks + at / kBlock32 : nullptr);
  }
}

// The row's f16 scale from the bits of its largest magnitude; writes it.
__device__ inline RowScale ScaleOfRow(const RowOutputs& out, uint32_t amax_bits) {
  if (out.f16 != nullptr && threadIdx.x == 0) *out.f16_scale = PowerOfTwo(RowExponent(amax_bits));
  return RowScale(amax_bits);
}

// Threads, a multiple of 32 in 32..most, that hold n values in `steps` steps of four.
constexpr int ThreadsFor(int64_t n, int steps, int most) {
  const int64_t threads = ((n + 3) / 4 + steps - 1) / steps;
  const int64_t warps = (threads + 31) / 32;
  return static_cast<int>(warps < 1 ? 32 : warps * 32 > most ? most : warps * 32);
}

// Whether all are aligned to 16 bytes, null too, and rows of n values keep them so.
template <typename... Pointers>
bool VectorRows(int64_t n, Pointers... pointers) {
  return n % 4 == 0 && ((reinterpret_cast<uintptr_t>(pointers) % 16 == 0) && ...);
}

constexpr int64_t kMostColumns = int64_t{1} << 30;  // indices within a row are ints

inline bool ValidRows(int64_t rows, int64_t n) {
  return rows >= 0 && rows <= INT32_MAX && n >= 0 && n <= kMostColumns;
}

}  // namespace fg::cuda
