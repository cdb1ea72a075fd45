#include "kernels/cuda/activations_row.cuh"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/pdl.cuh"

namespace fg::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kSteps = 2;
constexpr int kBlockValues = 4 * kSteps * kThreads;

// Of one row: zeros between calls, for the last block to finish leaves them so.
struct State {
  unsigned long long best;
  unsigned finished, unused;
};
static_assert(sizeof(State) == 16);

// Orders as the logits do, equal ones by descending id; 0 for NaN, below every other. -0 + 0 is +0,
// which makes the zeros equal.
__device__ unsigned long long Key(float logit, int id) {
  if (logit != logit) return 0;
  const uint32_t bits = __float_as_uint(__fadd_rn(logit, 0.0f));
  const uint32_t ordered = bits ^ ((bits >> 31) != 0 ? 0xFFFFFFFFu : 0x80000000u);
  return static_cast<unsigned long long>(ordered) << 32 | (0xFFFFFFFFu - static_cast<uint32_t>(id));
}

__device__ unsigned long long WarpMax(unsigned long long key) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    key = max(key, __shfl_xor_sync(kWholeWarp, key, step));
  }
  return key;
}

// An integer maximum has no order, so the atomic one gives the same id in any.
template <bool kVector>
__global__ void __launch_bounds__(kThreads)
    ArgmaxKernel(const float* logits, int n, int32_t* ids, State* states) {
  __shared__ unsigned long long keys[kThreads / 32];
  LetNextLaunchStart();
  WaitForLaunchBefore();
  const float* row = logits + static_cast<int64_t>(blockIdx.x) * n;
  float4 v[kSteps];
  const auto at = [](int j) {
    return static_cast<int>(blockIdx.y) * kBlockValues +
           4 * static_cast<int>(j * kThreads + threadIdx.x);
  };
#pragma unroll
  for (int j = 0; j < kSteps; ++j) v[j] = Load4<kVector>(row, at(j), n);
  unsigned long long key = 0;
#pragma unroll
  for (int j = 0; j < kSteps; ++j) {
    const float four[4] = {v[j].x, v[j].y, v[j].z, v[j].w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (at(j) + i < n) key = max(key, Key(four[i], at(j) + i));
    }
  }
  key = WarpMax(key);
  if (threadIdx.x % 32 == 0) keys[threadIdx.x / 32] = key;
  __syncthreads();
  if (threadIdx.x != 0) return;
#pragma unroll
  for (int warp = 1; warp < kThreads / 32; ++warp) key = max(key, keys[warp]);
  State* state = states + blockIdx.x;
  atomicMax(&state->best, key);
  __threadfence();  // the maximum before the count, as every block sees them
  if (atomicAdd(&state->finished, 1u) + 1 < gridDim.y) return;
  __threadfence();
  key = atomicExch(&state->best, 0ull);
  atomicExch(&state->finished, 0u);
  ids[blockIdx.x] = key == 0 ? -1 : static_cast<int32_t>(0xFFFFFFFFu - static_cast<uint32_t>(key));
}

}  // namespace

cudaError_t Argmax(const float* logits, int64_t rows, int64_t n, int32_t* ids, void* scratch,
                   cudaStream_t stream) {
  if (!ValidRows(rows, n) || n == 0) return cudaErrorInvalidValue;
  if (rows == 0) return cudaSuccess;
  const int64_t blocks = (n + kBlockValues - 1) / kBlockValues;
  if (blocks > 65535) return cudaErrorInvalidValue;
  const dim3 grid(static_cast<unsigned>(rows), static_cast<unsigned>(blocks));
  State* states = static_cast<State*>(scratch);
  if (VectorRows(n, logits)) {
    return LaunchOverlapping<ArgmaxKernel<true>>(grid, kThreads, 0, stream, logits,
                                                 static_cast<int>(n), ids, states);
  }
  return LaunchOverlapping<ArgmaxKernel<false>>(grid, kThreads, 0, stream, logits,
                                                static_cast<int>(n), ids, states);
}

int64_t ArgmaxScratch(int64_t rows) { return rows * static_cast<int64_t>(sizeof(State)); }

}  // namespace fg::cuda
