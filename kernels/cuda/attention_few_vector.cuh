// Few rows, head_dim 64 or 128: keys and values loaded 16 bytes a lane, all query heads of a kv
// head (7 a block at most) met by one load, f32 arithmetic.
//
// head_dim/8 lanes hold one key; a warp meets kBatch times 32/lanes keys at once, the 8 warps of a
// block take such batches in turn. A dot is 8 values a lane by fma in ascending order, then a fixed
// tree over the lanes. Each warp keeps maximum, sum and P*V of its own batches in ascending order;
// the block adds the warps' in ascending order. All of that is a function of head_dim, the part's
// length (so of the bucket) and the position.
#pragma once

#include <cuda_fp16.h>

#include "kernels/cuda/attention_few.cuh"
#include "kernels/cuda/pdl.cuh"

namespace fg::cuda {
namespace {

template <int kDim, int kHeads, int kBatch>
struct FewShape {
  static constexpr int kLanes = AttentionLanes(kDim);  // of one key
  static constexpr int kBeside = 32 / kLanes;          // keys side by side in a warp
  static constexpr int kSpread = kLanes / kBatch;      // lanes that end with the same dot
  static constexpr int kSweep = AttentionSweep(kDim, kBatch);
};

template <int kDim, int kHeads>
struct FewShared {
  float q[kHeads][kDim];
  float sums[kFewWarps][kHeads][kDim];
  float max[kFewWarps][kHeads], total[kFewWarps][kHeads];
};

// A warp's share of the part.
template <int kHeads>
struct FewState {
  float sums[kHeads][8];
  float max[kHeads], total[kHeads];  // total: of this lane's keys
};

__device__ __forceinline__ void ToF32(const uint4& halves, float (&v)[8]) {
  const uint32_t words[4] = {halves.x, halves.y, halves.z, halves.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 two = __half22float2(*reinterpret_cast<const __half2*>(&words[i]));
    v[2 * i] = two.x;
    v[2 * i + 1] = two.y;
  }
}

// Sums of dot[i] over a key's lanes: this lane ends with that of i = (lane of key) / kSpread.
template <typename Shape, int kBatch>
__device__ __forceinline__ float SumOverLanes(float (&dot)[kBatch]) {
  int bit = Shape::kLanes / 2;
#pragma unroll
  for (int half = kBatch / 2; half > 0; half /= 2) {
    const bool upper = (threadIdx.x & static_cast<unsigned>(bit)) != 0;
#pragma unroll
    for (int j = 0; j < half; ++j) {
      const float keep = upper ? dot[j + half] : dot[j];
      const float give = upper ? dot[j] : dot[j + half];
      dot[j] = __fadd_rn(keep, __shfl_xor_sync(~0u, give, bit));
    }
    bit /= 2;
  }
#pragma unroll
  for (; bit > 0; bit /= 2) dot[0] = __fadd_rn(dot[0], __shfl_xor_sync(~0u, dot[0], bit));
  return dot[0];
}

// Loads the batch whose first key is `key0`; keys from b.end on are zeros, and are not read.
template <typename Shape, int kDim, int kBatch>
__device__ __forceinline__ void FewLoad(const uint16_t* from, int64_t stride, int key0, int end,
                                        uint4 (&to)[kBatch]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int key = key0 + lane / Shape::kLanes;
  const uint16_t* at = from + key * stride + lane % Shape::kLanes * 8;
#pragma unroll
  for (int i = 0; i < kBatch; ++i) {
    to[i] = make_uint4(0, 0, 0, 0);
    if (key + i * Shape::kBeside < end) to[i] = *reinterpret_cast<const uint4*>(at);
    at += Shape::kBeside * stride;
  }
}

// The part's keys and values to L2, where they are of use while the launch before ends.
template <int kDim>
__device__ __forceinline__ void FewPrefetch(const AttentionArgs& args, const FewBlock& b) {
  constexpr int kLine = 64, kLines = kDim / kLine;  // values of 128 bytes
  for (int i = static_cast<int>(threadIdx.x); i < (b.end - b.begin) * kLines; i += kFewThreads) {
    const int64_t at =
        (b.begin + i / kLines) * args.kv_heads * kDim + b.kv_head * kDim + i % kLines * kLine;
    PrefetchL2(args.keys + at);
    PrefetchL2(args.values + at);
  }
}

template <typename Shape, int kDim, int kHeads, int kBatch>
__device__ __forceinline__ void FewScores(const FewShared<kDim, kHeads>& shared,
                                          const uint4 (&loaded)[kBatch], bool seen,
                                          float (&p)[kHeads]) {
  const int column = static_cast<int>(threadIdx.x) % Shape::kLanes * 8;
  float keys[kBatch][8];
#pragma unroll
  for (int i = 0; i < kBatch; ++i) ToF32(loaded[i], keys[i]);
#pragma unroll
  for (int g = 0; g < kHeads; ++g) {
    float q[8];
    *reinterpret_cast<float4*>(q) = *reinterpret_cast<const float4*>(&shared.q[g][column]);
    *reinterpret_cast<float4*>(q + 4) = *reinterpret_cast<const float4*>(&shared.q[g][column + 4]);
    float dot[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      dot[i] = 0.0f;
#pragma unroll
      for (int e = 0; e < 8; ++e) dot[i] = __fmaf_rn(q[e], keys[i][e], dot[i]);
    }
    const float factor = __fmul_rn(__frsqrt_rn(static_cast<float>(kDim)), kFewLog2E);
    const float score = __fmul_rn(SumOverLanes<Shape>(dot), factor);
    p[g] = seen ? score : __uint_as_float(0xFF800000u);
  }
}

// Scores to p, the state brought to the new maxima. The heads side by side: each is a chain of
// shuffles.
template <int kHeads>
__device__ __forceinline__ void FewWeights(float (&p)[kHeads], FewState<kHeads>& state) {
  float most[kHeads];
#pragma unroll
  for (int g = 0; g < kHeads; ++g) most[g] = fmaxf(state.max[g], p[g]);
#pragma unroll
  for (int o = 16; o > 0; o /= 2) {
#pragma unroll
    for (int g = 0; g < kHeads; ++g) {
      most[g] = fmaxf(most[g], __shfl_xor_sync(~0u, most[g], o));
    }
  }
#pragma unroll
  for (int g = 0; g < kHeads; ++g) {
    const float origin = FewOrigin(most[g]);
    const float old = Exp2Approx(__fsub_rn(state.max[g], origin));
    p[g] = Exp2Approx(__fsub_rn(p[g], origin));
    state.max[g] = most[g];
    state.total[g] = __fmaf_rn(state.total[g], old, p[g]);
#pragma unroll
    for (int e = 0; e < 8; ++e) state.sums[g][e] = __fmul_rn(state.sums[g][e], old);
  }
}

template <typename Shape, int kHeads, int kBatch>
__device__ __forceinline__ void FewValues(const uint4 (&loaded)[kBatch], int left,
                                          const float (&p)[kHeads], FewState<kHeads>& state) {
  const int first = static_cast<int>(threadIdx.x) % 32 / Shape::kLanes * Shape::kLanes;
#pragma unroll
  for (int i = 0; i < kBatch; ++i) {
    if (i * Shape::kBeside >= left) break;  // the same in all lanes
    float v[8];
    ToF32(loaded[i], v);
#pragma unroll
    for (int g = 0; g < kHeads; ++g) {
      const float weight = __shfl_sync(~0u, p[g], first + i * Shape::kSpread);
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        state.sums[g][e] = __fmaf_rn(weight, v[e], state.sums[g][e]);
      }
    }
  }
}

// The warp's state over all its lanes, to shared memory.
template <typename Shape, int kDim, int kHeads>
__device__ __forceinline__ void FewKeep(const FewState<kHeads>& state,
                                        FewShared<kDim, kHeads>& shared) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = WarpIndex();
  const int lane_of_key = lane % Shape::kLanes;
  float total[kHeads];
#pragma unroll
  for (int g = 0; g < kHeads; ++g) {
    // Lanes that share a key hold its p all: one of them counts.
    total[g] = lane_of_key % Shape::kSpread == 0 ? state.total[g] : 0.0f;
  }
#pragma unroll
  for (int o = 16; o > 0; o /= 2) {
#pragma unroll
    for (int g = 0; g < kHeads; ++g) {
      total[g] = __fadd_rn(total[g], __shfl_xor_sync(~0u, total[g], o));
    }
  }
#pragma unroll
  for (int g = 0; g < kHeads; ++g) {
    float sums[8];
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      sums[e] = state.sums[g][e];
#pragma unroll
      for (int o = 16; o >= Shape::kLanes; o /= 2) {
        sums[e] = __fadd_rn(sums[e], __shfl_xor_sync(~0u, sums[e], o));
      }
    }
    if (lane == 0) {
      shared.max[warp][g] = state.max[g];
      shared.total[warp][g] = total[g];
    }
    if (lane < Shape::kLanes) {
      float* to = &shared.sums[warp][g][lane * 8];
      *reinterpret_cast<float4*>(to) = {sums[0], sums[1], sums[2], sums[3]};
      *reinterpret_cast<float4*>(to + 4) = {sums[4], sums[5], sums[6], sums[7]};
    }
  }
}

// The warps' states added in their order: the part's result, to scratch.
template <int kDim, int kHeads>
__device__ __forceinline__ void FewPart(const AttentionFewCall& call, const FewBlock& b,
                                        const FewShared<kDim, kHeads>& shared) {
  for (int i = static_cast<int>(threadIdx.x); i < b.heads * kDim; i += kFewThreads) {
    const int g = i / kDim, d = i % kDim;
    float most = shared.max[0][g];
#pragma unroll
    for (int w = 1; w < kFewWarps; ++w) most = fmaxf(most, shared.max[w][g]);
    const float origin = FewOrigin(most);
    float sum = 0.0f, total = 0.0f;
#pragma unroll
    for (int w = 0; w < kFewWarps; ++w) {
      const float weight = Exp2Approx(__fsub_rn(shared.max[w][g], origin));
      sum = __fmaf_rn(weight, shared.sums[w][g][d], sum);
      total = __fmaf_rn(weight, shared.total[w][g], total);
    }
    const int64_t index = FewPartIndex(call, b, g, static_cast<int>(blockIdx.x));
    call.sums[index * kDim + d] = sum;
    if (d == 0) call.pairs[index] = make_float2(most, total);
  }
}

template <int kDim, int kHeads, int kBatch>
__global__ void __launch_bounds__(kFewThreads) AttentionFewKernel(AttentionFewCall call) {
  using Shape = FewShape<kDim, kHeads, kBatch>;
  __shared__ __align__(16) FewShared<kDim, kHeads> shared;
  LetNextLaunchStart();
  const FewBlock b = FewBlockOf(call);  // no launch writes positions
  const AttentionArgs& args = call.args;
  FewPrefetch<kDim>(args, b);
  WaitForLaunchBefore();
  if (b.begin >= b.end) return;  // behind the row: nothing waits for it
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = WarpIndex();
  const int64_t stride = args.kv_heads * kDim;
  constexpr int kWarpKeys = Shape::kSweep / kFewWarps;
  int key0 = b.begin + warp * kWarpKeys;
  uint4 keys[kBatch], values[kBatch];
  FewLoad<Shape, kDim>(args.keys + b.kv_head * kDim, stride, key0, b.end, keys);
  FewLoad<Shape, kDim>(args.values + b.kv_head * kDim, stride, key0, b.end, values);
  const float* q = args.q + (b.row * args.heads + b.head0) * kDim;
  for (int i = static_cast<int>(threadIdx.x); i < kHeads * kDim; i += kFewThreads) {
    shared.q[i / kDim][i % kDim] = i < b.heads * kDim ? q[i] : 0.0f;
  }
  __syncthreads();
  FewState<kHeads> state;
#pragma unroll
  for (int g = 0; g < kHeads; ++g) {
    state.max[g] = __uint_as_float(0xFF800000u);
    state.total[g] = 0.0f;
#pragma unroll
    for (int e = 0; e < 8; ++e) state.sums[g][e] = 0.0f;
  }
  // This lane's key within a batch: the one whose dot it ends with.
  const int mine =
      AttentionRowOfLane(lane % Shape::kLanes, Shape::kLanes, kBatch) * Shape::kBeside +
      lane / Shape::kLanes;
  while (key0 < b.end) {
    float p[kHeads];
    FewScores<Shape, kDim, kHeads>(shared, keys, key0 + mine < b.end, p);
    const int left = b.end - key0, next = key0 + Shape::kSweep;
    FewLoad<Shape, kDim>(args.keys + b.kv_head * kDim, stride, next, b.end, keys);
    FewWeights(p, state);
    FewValues<Shape>(values, left, p, state);
    FewLoad<Shape, kDim>(args.values + b.kv_head * kDim, stride, next, b.end, values);
    key0 = next;
  }
  FewKeep<Shape>(state, shared);
  __syncthreads();
  FewPart(call, b, shared);
  FewArriveAndJoin(call, b);
}

template <int kDim, int kHeads>
cudaError_t LaunchFewHeads(const AttentionFewCall& call, cudaStream_t stream) {
  const int batch = AttentionBatch(kDim, call.part);
  if (batch == 2) {
    return LaunchOverlapping<AttentionFewKernel<kDim, kHeads, 2>>(FewGrid(call), kFewThreads, 0,
                                                                  stream, call);
  }
  if (batch == 4) {
    return LaunchOverlapping<AttentionFewKernel<kDim, kHeads, 4>>(FewGrid(call), kFewThreads, 0,
                                                                  stream, call);
  }
  return LaunchOverlapping<AttentionFewKernel<kDim, kHeads, 8>>(FewGrid(call), kFewThreads, 0,
                                                                stream, call);
}

template <int kDim>
cudaError_t LaunchFewVector(const AttentionFewCall& call, cudaStream_t stream) {
  if (call.block_heads <= 2) return LaunchFewHeads<kDim, 2>(call, stream);
  if (call.block_heads <= 4) return LaunchFewHeads<kDim, 4>(call, stream);
  return LaunchFewHeads<kDim, 7>(call, stream);
}

}  // namespace
}  // namespace fg::cuda
