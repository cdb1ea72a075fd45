// What the forms of prefill attention on tensor cores share: loads to shared memory, values that
// are not finite, the end.
#pragma once

#include "kernels/cuda/attention.h"
#include "kernels/cuda/attention_layout.h"
#include "kernels/cuda/mma.cuh"

namespace fg::cuda {

cudaError_t LaunchManyMma(const AttentionArgs& args, cudaStream_t stream);
// cudaErrorNotSupported where HasManyWgmma() says no.
cudaError_t LaunchManyWgmma(const AttentionArgs& args, cudaStream_t stream);
bool HasManyWgmma();

namespace {

// A tile of kKeys keys or values to shared memory, from row `first` on; rows from `limit` on are
// zeros.
template <int kDim, int kKeys, int kThreads>
__device__ __forceinline__ void LoadTile(const uint16_t* from, int64_t stride, int64_t first,
                                         int64_t limit, uint32_t to) {
  constexpr int kPieces = kDim / 8;          // of 16 bytes in a row
  constexpr int kStep = kThreads / kPieces;  // a multiple of 8: the swizzle is that of row0
  const int piece = static_cast<int>(threadIdx.x) % kPieces;
  const int row0 = static_cast<int>(threadIdx.x) / kPieces;
  const uint32_t place = to + AttentionTileOffset(row0, piece, kKeys);
  const uint16_t* source = from + (first + row0) * stride + piece * 8;
  const int left = static_cast<int>(min(limit - first, static_cast<int64_t>(kKeys)));
#pragma unroll
  for (int i = 0; i < kKeys / kStep; ++i) {
    const bool take = row0 + i * kStep < left;
    CopyAsync16(place + i * kStep * 128, take ? source : from, take);
    source += kStep * stride;
  }
}

// This warp's kWarpRows rows of q to shared memory as f16; 2^k of row i comes back in lane i.
template <int kDim, int kWarpRows>
__device__ float LoadQueries(const float* q, int64_t stride, int64_t rows, unsigned char* to) {
  constexpr int kLanes = kDim / 4;  // of a row, four values each
  constexpr int kTogether = 32 / kLanes;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int column = lane % kLanes * 4;
  // log2(e)/sqrt(head_dim): p is a power of two.
  const float factor = __fmul_rn(__frsqrt_rn(static_cast<float>(kDim)), 0x1.715476p+0f);
  float mine = 1.0f;
#pragma unroll 8
  for (int i = 0; i < kWarpRows; i += kTogether) {
    const int row = warp * kWarpRows + i + lane / kLanes;
    float4 v = {};
    if (row < rows) v = *reinterpret_cast<const float4*>(q + row * stride + column);
    v.x = __fmul_rn(v.x, factor);
    v.y = __fmul_rn(v.y, factor);
    v.z = __fmul_rn(v.z, factor);
    v.w = __fmul_rn(v.w, factor);
    uint32_t most = max(max(__float_as_uint(v.x) & 0x7FFFFFFF, __float_as_uint(v.y) & 0x7FFFFFFF),
                        max(__float_as_uint(v.z) & 0x7FFFFFFF, __float_as_uint(v.w) & 0x7FFFFFFF));
#pragma unroll
    for (int o = kLanes / 2; o > 0; o /= 2) most = max(most, __shfl_xor_sync(~0u, most, o));
    const int shift = AttentionQueryShift(most);
    const float down = __int_as_float((127 - shift) << 23);
    const uint2 halves = {PackHalves(__fmul_rn(v.x, down), __fmul_rn(v.y, down)),
                          PackHalves(__fmul_rn(v.z, down), __fmul_rn(v.w, down))};
    *reinterpret_cast<uint2*>(to + AttentionTileOffset(row, column / 8, kAttentionTileRows) +
                              column % 8 * 2) = halves;
#pragma unroll
    for (int j = 0; j < kTogether; ++j) {
      const int theirs = __shfl_sync(~0u, shift, j * kLanes);
      if (lane == i + j) mine = __int_as_float((127 + theirs) << 23);
    }
  }
  return mine;
}

// 0xFFFF in each half that is NaN or infinite.
__device__ __forceinline__ uint32_t NotFinite(uint32_t halves) {
  const uint32_t low = (halves & 0x7C00) == 0x7C00 ? 0xFFFF : 0;
  return low | ((halves & 0x7C000000) == 0x7C000000 ? 0xFFFF0000 : 0);
}

// 1 for each of 16 keys that a row sees, as the A operand of row tile m. `ahead`: the position of
// row 0 less the tile's first key.
__device__ __forceinline__ void SeenOf(int ahead, int k, int m, uint32_t (&a)[4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    const int last = m * 16 + lane / 4 + e % 2 * 8 + ahead;
    const int key = k * 16 + e / 2 * 8 + lane % 4 * 2;
    a[e] = (key <= last ? 0x3C00u : 0u) | (key + 1 <= last ? 0x3C000000u : 0u);
  }
}

// Whether this thread's share of a tile holds a NaN or an infinity.
template <int kBytes, int kThreads>
__device__ bool HoldsNotFinite(const unsigned char* values) {
  uint32_t any = 0;
#pragma unroll
  for (int i = 0; i < kBytes / 16 / kThreads; ++i) {
    const uint4 v = *reinterpret_cast<const uint4*>(
        values + (i * kThreads + static_cast<int>(threadIdx.x)) * 16);
    any |= NotFinite(v.x) | NotFinite(v.y) | NotFinite(v.z) | NotFinite(v.w);
  }
  return any != 0;
}

// The quotient; -0 becomes +0, what is not finite the one NaN.
__device__ __forceinline__ float Finish(float sum, float inverse) {
  const float y = __fadd_rn(__fmul_rn(sum, inverse), 0.0f);
  return fabsf(y) < __int_as_float(0x7F800000) ? y : __int_as_float(0x7FC00000);
}

}  // namespace
}  // namespace fg::cuda
