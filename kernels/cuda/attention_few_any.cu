// Few rows of any even head_dim up to 256, two bytes a load: what attention_few_vector.cuh does
// not serve. Right, not fast.
//
// A block takes its query heads one after the other. 256 keys of the part at a time: a thread each
// sums a dot by fma in ascending order; then a thread each sums a value's p*V in ascending
// position. Sums of p: the tree of a warp, then the warps in order.
#include <cuda_fp16.h>

#include "kernels/cuda/attention_few.cuh"

namespace fg::cuda {
namespace {

constexpr int kMostDim = 256;

struct AnyShared {
  float q[kMostDim];
  float p[kFewThreads];
  float warps[2][kFewWarps];
};

__device__ float Half(const uint16_t* at) { return __half2float(__ushort_as_half(*at)); }

// Over the block; `kSum`: the sum, else the maximum, which a NaN does not enter. `warps` must not
// be in use by a thread that is not yet through.
template <bool kSum>
__device__ float OverBlock(float v, float (&warps)[kFewWarps]) {
#pragma unroll
  for (int o = 16; o > 0; o /= 2) {
    const float other = __shfl_xor_sync(~0u, v, o);
    v = kSum ? __fadd_rn(v, other) : fmaxf(v, other);
  }
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  v = warps[0];
#pragma unroll
  for (int w = 1; w < kFewWarps; ++w) v = kSum ? __fadd_rn(v, warps[w]) : fmaxf(v, warps[w]);
  return v;
}

__global__ void __launch_bounds__(kFewThreads) AttentionFewAnyKernel(AttentionFewCall call) {
  __shared__ AnyShared shared;
  const FewBlock b = FewBlockOf(call);
  if (b.begin >= b.end) return;
  const AttentionArgs& args = call.args;
  const int thread = static_cast<int>(threadIdx.x), dim = static_cast<int>(args.head_dim);
  const int64_t stride = args.kv_heads * dim, padded = AttentionPaddedDim(dim);
  const uint16_t* keys = args.keys + b.kv_head * dim;
  const uint16_t* values = args.values + b.kv_head * dim;
  const float factor = __fmul_rn(__frsqrt_rn(static_cast<float>(dim)), kFewLog2E);
  for (int g = 0; g < b.heads; ++g) {
    const float* q = args.q + (b.row * args.heads + b.head0 + g) * dim;
    __syncthreads();  // the head before is through with everything shared
    if (thread < dim) shared.q[thread] = q[thread];
    __syncthreads();
    float max = __uint_as_float(0xFF800000u), total = 0.0f, sum = 0.0f;
    for (int key0 = b.begin; key0 < b.end; key0 += kFewThreads) {
      float score = __uint_as_float(0xFF800000u);
      if (key0 + thread < b.end) {
        const uint16_t* key = keys + (key0 + thread) * stride;
        float dot = 0.0f;
        for (int d = 0; d < dim; ++d) dot = __fmaf_rn(shared.q[d], Half(key + d), dot);
        score = __fmul_rn(dot, factor);
      }
      const float most = fmaxf(max, OverBlock<false>(score, shared.warps[0]));
      const float origin = FewOrigin(most);
      const float old = Exp2Approx(__fsub_rn(max, origin));
      const float p = Exp2Approx(__fsub_rn(score, origin));
      shared.p[thread] = p;
      total = __fmaf_rn(total, old, OverBlock<true>(p, shared.warps[1]));
      max = most;
      sum = __fmul_rn(sum, old);
      const int count = min(b.end - key0, kFewThreads);
      if (thread < dim) {
        for (int i = 0; i < count; ++i) {
          sum = __fmaf_rn(shared.p[i], Half(values + (key0 + i) * stride + thread), sum);
        }
      }
      __syncthreads();  // before the next keys' p
    }
    const int64_t index = FewPartIndex(call, b, g, static_cast<int>(blockIdx.x));
    // The places behind head_dim are read by the join's loads of four: zeros.
    if (thread < padded) call.sums[index * padded + thread] = thread < dim ? sum : 0.0f;
    if (thread == 0) call.pairs[index] = make_float2(max, total);
  }
  FewArriveAndJoin(call, b);
}

}  // namespace

cudaError_t LaunchFewAny(const AttentionFewCall& call, cudaStream_t stream) {
  AttentionFewAnyKernel<<<FewGrid(call), kFewThreads, 0, stream>>>(call);
  return cudaGetLastError();
}

}  // namespace fg::cuda
