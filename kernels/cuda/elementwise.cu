#include "kernels/cuda/elementwise.h"

#include "kernels/cuda/activations_row.cuh"
#include "kernels/cuda/exp.cuh"

namespace fg::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kSteps = 4;  // 16-byte loads of an array that a thread has in flight

struct AddOf {
  __device__ static float Of(float a, float b) { return __fadd_rn(a, b); }
};
struct ExpOf {
  __device__ static float Of(float a, float) { return ExpSameBits(a); }
};

// y may be a or b: what a thread writes it alone has read, before.
template <class Op, bool kVector, bool kTwo>
__global__ void __launch_bounds__(kThreads)
    EachValue(const float* a, const float* b, int64_t n, float* y) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kSteps * kThreads + threadIdx.x;
  float4 va[kSteps], vb[kSteps];
#pragma unroll
  for (int j = 0; j < kSteps; ++j) {
    const int64_t at = 4 * (first + j * kThreads);
    va[j] = Load4<kVector>(a, at, n);
    vb[j] = kTwo ? Load4<kVector>(b, at, n) : make_float4(0, 0, 0, 0);
  }
#pragma unroll
  for (int j = 0; j < kSteps; ++j) {
    const int64_t at = 4 * (first + j * kThreads);
    Store4<kVector>(y, at, n,
                    make_float4(Op::Of(va[j].x, vb[j].x), Op::Of(va[j].y, vb[j].y),
                                Op::Of(va[j].z, vb[j].z), Op::Of(va[j].w, vb[j].w)));
  }
}

template <class Op, bool kTwo>
cudaError_t Launch(const float* a, const float* b, int64_t n, float* y, cudaStream_t stream) {
  constexpr int64_t kBlock = 4 * kSteps * kThreads;
  if (n < 0 || n > INT32_MAX * kBlock) return cudaErrorInvalidValue;
  if (n == 0) return cudaSuccess;
  const unsigned grid = static_cast<unsigned>((n + kBlock - 1) / kBlock);
  if (VectorRows(n, a, b, y)) {
    EachValue<Op, true, kTwo><<<grid, kThreads, 0, stream>>>(a, b, n, y);
  } else {
    EachValue<Op, false, kTwo><<<grid, kThreads, 0, stream>>>(a, b, n, y);
  }
  return cudaGetLastError();
}

}  // namespace

cudaError_t Add(const float* a, const float* b, int64_t n, float* y, cudaStream_t stream) {
  return Launch<AddOf, true>(a, b, n, y, stream);
}

cudaError_t Exp(const float* x, int64_t n, float* y, cudaStream_t stream) {
  return Launch<ExpOf, false>(x, nullptr, n, y, stream);
}

}  // namespace fg::cuda
