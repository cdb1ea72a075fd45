// What the kernels of few rows share: one block per (part of the keys, kv head's block of query
// heads, row), its result in scratch, and the join by the block that arrives last.
//
// A part's result of a head: m, the maximum of its scores times log2(e); l = sum of p = 2^(score -
// m); sums of p*V; f32 all. The join takes the parts in ascending order: M the maximum of m, weight
// 2^(m - M), l and sums added by fma, one division. Which block joins does not touch the bits.
#pragma once

#include "kernels/cuda/attention.h"
#include "kernels/cuda/attention_layout.h"
#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/quantize.cuh"

namespace fg::cuda {

constexpr int kFewThreads = 256;
constexpr int kFewWarps = kFewThreads / 32;
constexpr float kFewLog2E = 0x1.715476p+0f;

// One launch: rows of a slice, and where they lie.
struct AttentionFewCall {
  AttentionArgs args;
  int bucket = 0;
  int part = 0, parts = 0;               // keys of a part; parts of the bucket
  int group = 0;                         // query heads of a kv head
  int head_blocks = 0, block_heads = 0;  // of a kv head
  unsigned* counters = nullptr;          // [rows][kv_heads*head_blocks], zero between launches
  float2* pairs = nullptr;               // [rows][heads][parts] (m, l)
  float* sums = nullptr;                 // [rows][heads][parts][AttentionPaddedDim(head_dim)]
};

cudaError_t LaunchFew64(const AttentionFewCall& call, cudaStream_t stream);
cudaError_t LaunchFew128(const AttentionFewCall& call, cudaStream_t stream);
cudaError_t LaunchFewAny(const AttentionFewCall& call, cudaStream_t stream);

inline dim3 FewGrid(const AttentionFewCall& call) {
  return dim3(static_cast<unsigned>(call.parts),
              static_cast<unsigned>(call.args.kv_heads * call.head_blocks),
              static_cast<unsigned>(call.args.rows));
}

// What this block works on.
struct FewBlock {
  int row, kv_head, head0, heads;  // head0: the first of `heads` query heads
  int begin, end;                  // positions of its part; none where the part lies behind the row
  int live;                        // parts that the row reaches into
};

__device__ inline FewBlock FewBlockOf(const AttentionFewCall& call) {
  FewBlock b;
  // The position first: everything waits for it. Positions are below 2^31.
  b.row = static_cast<int>(blockIdx.z);
  const int seen = min(call.args.positions[b.row] + 1, call.bucket);
  const int block = static_cast<int>(blockIdx.y);
  b.kv_head = call.head_blocks == 1 ? block : block / call.head_blocks;
  const int within = (block - b.kv_head * call.head_blocks) * call.block_heads;
  b.head0 = b.kv_head * call.group + within;
  b.heads = min(call.block_heads, call.group - within);
  b.begin = static_cast<int>(blockIdx.x) * call.part;
  b.end = min(b.begin + call.part, seen);
  b.live = (seen + call.part - 1) / call.part;
  return b;
}

__device__ inline int64_t FewPartIndex(const AttentionFewCall& call, const FewBlock& b, int head,
                                       int part) {
  return (b.row * call.args.heads + b.head0 + head) * call.parts + part;
}

// The origin of p for a maximum: -inf means that every score is -inf, which weigh nothing beside
// finite ones elsewhere.
__device__ inline float FewOrigin(float max) {
  return max == __uint_as_float(0xFF800000u) ? 0.0f : max;
}

constexpr int kFewJoinParts = 16;  // whose loads are under way at once

// Four sums of one head, of parts from `first` on; zeros behind the last. Written by other
// multiprocessors: read past the first-level cache.
__device__ inline void FewJoinLoad(const float* sums, int64_t padded, int first, int live,
                                   float4 (&v)[kFewJoinParts]) {
#pragma unroll
  for (int i = 0; i < kFewJoinParts; ++i) {
    v[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (first + i < live) v[i] = __ldcg(reinterpret_cast<const float4*>(sums + i * padded));
  }
}

// Adds them; lane i brings weight and l of part i, both 0 behind the last.
__device__ inline void FewJoinAdd(const float4 (&v)[kFewJoinParts], int first, float weight,
                                  float l, float (&y)[4], float& total) {
#pragma unroll
  for (int i = 0; i < kFewJoinParts; ++i) {
    const float w = __shfl_sync(~0u, weight, first + i);
    total = __fmaf_rn(w, __shfl_sync(~0u, l, first + i), total);
    y[0] = __fmaf_rn(w, v[i].x, y[0]);
    y[1] = __fmaf_rn(w, v[i].y, y[1]);
    y[2] = __fmaf_rn(w, v[i].z, y[2]);
    y[3] = __fmaf_rn(w, v[i].w, y[3]);
  }
}

// Four values of one head: at y + place and in its chunk. All lanes call; those with d >= dim write
// nothing.
__device__ inline void FewJoinWrite(const AttentionFewCall& call, int64_t place, int d, int dim,
                                    float total, float (&y)[4]) {
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    y[e] = __fdiv_rn(y[e], total);
    if (!(y[e] == y[e])) y[e] = __uint_as_float(0x7FC00000u);
  }
  if (call.args.y != nullptr && d < dim) {
    float* to = call.args.y + place + d;
    if (dim % 4 == 0) {
      *reinterpret_cast<float4*>(to) = {y[0], y[1], y[2], y[3]};
    } else {
      for (int e = 0; e < 4 && d + e < dim; ++e) to[e] = y[e];
    }
  }
  if (call.args.chunks != nullptr) {
    QuantizeGroup<4>(y, d < dim ? call.args.chunks + (place + d) / 32 : nullptr);
  }
}

// A warp joins a head.
__device__ inline void FewJoinHead(const AttentionFewCall& call, const FewBlock& b, int head) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int dim = static_cast<int>(call.args.head_dim);
  const int64_t padded = AttentionPaddedDim(dim);
  const float* sums = call.sums + FewPartIndex(call, b, head, 0) * padded;
  const int64_t place = (b.row * call.args.heads + b.head0 + head) * dim;
  float2 pair = {__uint_as_float(0xFF800000u), 0.0f};
  if (lane < b.live) pair = __ldcg(call.pairs + FewPartIndex(call, b, head, lane));
  for (int base = 0; base < dim; base += 128) {
    const int d = base + lane * 4;
    const float* mine = sums + (d < dim ? d : 0);
    float4 v[kFewJoinParts];
    FewJoinLoad(mine, padded, 0, b.live, v);
    float most = pair.x;
#pragma unroll
    for (int o = 16; o > 0; o /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, o));
    const float weight = Exp2Approx(__fsub_rn(pair.x, FewOrigin(most)));
    float y[4] = {}, total = 0.0f;
    FewJoinAdd(v, 0, weight, pair.y, y, total);
    if (b.live > kFewJoinParts) {
      FewJoinLoad(mine + kFewJoinParts * padded, padded, kFewJoinParts, b.live, v);
      FewJoinAdd(v, kFewJoinParts, weight, pair.y, y, total);
    }
    FewJoinWrite(call, place, d, dim, total, y);
  }
}
static_assert(kAttentionMostParts == 2 * kFewJoinParts);

// All threads of the block, after they wrote the part's result.
__device__ inline void FewArriveAndJoin(const AttentionFewCall& call, const FewBlock& b) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned* counter = call.counters + static_cast<int64_t>(b.row) * gridDim.y + blockIdx.y;
    last = AddAndMeet(counter) == static_cast<unsigned>(b.live) - 1;
    if (last) *counter = 0;  // everybody has arrived: ready for the next launch
  }
  __syncthreads();
  if (!last) return;
  for (int head = WarpIndex(); head < b.heads; head += kFewWarps) FewJoinHead(call, b, head);
}

}  // namespace fg::cuda
