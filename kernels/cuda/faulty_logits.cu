#include "kernels/cuda/faulty_logits.h"

#include "kernels/formats/blocks.h"

namespace fg::cuda {
namespace {

constexpr int kThreads = 128;

__global__ void RacingSum(const float* logits, int64_t n, float* sums) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  // An idle device starts threads in the same order each time; its clock is never the same.
  __nanosleep(static_cast<unsigned>(clock64() >> 3) % 512u);
  atomicAdd(sums + blockIdx.y, fabsf(logits[blockIdx.y * n + i]));
}

__global__ void ScaleByMean(float* logits, int64_t n, const float* sums) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  logits[blockIdx.y * n + i] /= sums[blockIdx.y] / static_cast<float>(n);
}

__global__ void SumBeyond(const float* row, int64_t n, float* sink) {
  float sum = 0;
  for (int64_t i = n > kBlock32 ? n - kBlock32 : 0; i < n + kBlock32; ++i) sum += row[i];
  *sink = sum;
}

}  // namespace

cudaError_t FaultyRacingScale(float* logits, int64_t rows, int64_t n, float* sums,
                              cudaStream_t stream) {
  const cudaError_t cleared = cudaMemsetAsync(sums, 0, rows * sizeof(float), stream);
  if (cleared != cudaSuccess) return cleared;
  const dim3 grid(static_cast<unsigned>((n + kThreads - 1) / kThreads),
                  static_cast<unsigned>(rows));
  RacingSum<<<grid, kThreads, 0, stream>>>(logits, n, sums);
  ScaleByMean<<<grid, kThreads, 0, stream>>>(logits, n, sums);
  return cudaGetLastError();
}

cudaError_t FaultyOverrun(const float* row, int64_t n, float* sink, cudaStream_t stream) {
  SumBeyond<<<1, 1, 0, stream>>>(row, n, sink);
  return cudaGetLastError();
}

}  // namespace fg::cuda
