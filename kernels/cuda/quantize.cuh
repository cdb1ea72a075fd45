// Device side of the two forms in which matmuls read activations: int8 chunks and f16 rows. Bit for
// bit kernels/cpu/quantize_rows.h and RoundRowsToF16 of kernels/cpu/gemm.h.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/formats/blocks.h"

namespace fg::cuda {

// The bits of magnitudes order as the magnitudes do, with infinity and then NaN on top: a maximum
// over them as integers keeps a NaN whatever its place.
__device__ inline uint32_t MagnitudeBits(float v) { return __float_as_uint(v) & 0x7FFFFFFFu; }
constexpr uint32_t kInfinityBits = 0x7F800000u;

// The smallest e >= 0 with amax * 2^-e < 32768, from the bits of amax; 0 for NaN and infinity.
__host__ __device__ constexpr int RowExponent(uint32_t amax_bits) {
  const int e = static_cast<int>(amax_bits >> 23) - 127 - 14;
  return amax_bits >= kInfinityBits || e < 0 ? 0 : e;
}

// 2^exponent, exponent in -126..127.
__device__ inline float PowerOfTwo(int exponent) {
  return __uint_as_float(static_cast<uint32_t>(exponent + 127) << 23);
}

// F32ToF16 of kernels/formats/half.h: the conversion instruction gives every NaN as 0x7FFF, the
// contract keeps its sign and its top mantissa bits and makes it quiet.
__device__ inline uint16_t F16Bits(float v) {
  const uint32_t bits = __float_as_uint(v);
  if ((bits & 0x7FFFFFFFu) > kInfinityBits) {
    return static_cast<uint16_t>(((bits >> 16) & 0x8000u) | 0x7E00u | ((bits >> 13) & 0x3FFu));
  }
  return __half_as_ushort(__float2half_rn(v));
}

// Two of them, the first in the low half.
__device__ inline uint32_t F16Pair(float low, float high) {
  return F16Bits(low) | static_cast<uint32_t>(F16Bits(high)) << 16;
}

// What a row's values need to become f16: from the bits of its largest magnitude.
struct RowScale {
  float down;  // 2^-e
  bool nan;    // the row has a NaN, so e = 0
  __device__ explicit RowScale(uint32_t amax_bits)
      : down(PowerOfTwo(-RowExponent(amax_bits))), nan(amax_bits > kInfinityBits) {}
};

// f16 of two values of the row. A product would lose a NaN's bits, so rows that have one go without
// it: their exponent is 0.
__device__ inline uint32_t ScaledF16Pair(const RowScale& scale, float low, float high) {
  if (scale.nan) return F16Pair(low, high);
  const __half2 pair = __floats2half2_rn(__fmul_rn(low, scale.down), __fmul_rn(high, scale.down));
  return *reinterpret_cast<const uint32_t*>(&pair);
}

// Quantizes one chunk of 32 values. It is held by a group of 32/kPer consecutive lanes, the first
// of them a multiple of 32/kPer; lane i of the group holds values i*kPer .. i*kPer + kPer-1 in v.
// kPer is 1, 2, 4 or 8: with 1 a warp holds one chunk, lane l value l; with 4 it holds 4 chunks.
// ALL 32 lanes of the warp must call it together; blockDim.x is a multiple of 32. `chunk` is the
// group's own (the same pointer in its lanes), 8-byte aligned; null in the groups that have nothing
// to write (their v must still be values that were initialized).
template <int kPer>
__device__ inline void QuantizeGroup(const float (&v)[kPer], ActivationChunk* chunk) {
  static_assert(kPer == 1 || kPer == 2 || kPer == 4 || kPer == 8);
  constexpr int kLanes = 32 / kPer;
  constexpr unsigned kAll = 0xFFFFFFFFu;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  uint32_t largest = 0;
#pragma unroll
  for (int i = 0; i < kPer; ++i) largest = max(largest, MagnitudeBits(v[i]));
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) {
    largest = max(largest, __shfl_xor_sync(kAll, largest, step));
  }
  const bool finite = largest < kInfinityBits;
  const float amax = __uint_as_float(largest);
  const bool some = finite && amax >= 0x1p-100f;
  const float r = some ? __fdiv_rn(127.0f, amax) : 0.0f;
  int sum = 0;
  uint32_t bytes[(kPer + 3) / 4] = {};
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    const int q = some ? __float2int_rn(__fmul_rn(v[i], r)) : 0;
    sum += q;
    bytes[i / 4] |= (static_cast<uint32_t>(q) & 0xFFu) << (8 * (i % 4));
  }
#pragma unroll
  for (int step = kLanes / 4; step > 0; step /= 2) sum += __shfl_xor_sync(kAll, sum, step);
  const int other = __shfl_xor_sync(kAll, sum, kLanes / 2);  // of the other half of the chunk
  if (chunk == nullptr) return;
  if constexpr (kPer == 1) {
    chunk->q[lane] = static_cast<int8_t>(bytes[0]);
  } else if constexpr (kPer == 2) {
    reinterpret_cast<uint16_t*>(chunk->q)[lane] = static_cast<uint16_t>(bytes[0]);
  } else if constexpr (kPer == 4) {
    reinterpret_cast<uint32_t*>(chunk->q)[lane] = bytes[0];
  } else {
    reinterpret_cast<uint2*>(chunk->q)[lane] = make_uint2(bytes[0], bytes[1]);
  }
  if (lane == 0) {
    const uint32_t d = some ? __float_as_uint(__fdiv_rn(amax, 127.0f)) : finite ? 0 : 0x7FC00000u;
    const uint32_t sums = (static_cast<uint32_t>(sum) & 0xFFFFu) | static_cast<uint32_t>(other)
                                                                       << 16;
    *reinterpret_cast<uint2*>(&chunk->d) = make_uint2(d, sums);
  }
}

// The whole warp's chunk: lane l holds value l.
__device__ inline void QuantizeWarp(float v, ActivationChunk* chunk) {
  const float one[1] = {v};
  QuantizeGroup<1>(one, chunk);
}

}  // namespace fg::cuda
