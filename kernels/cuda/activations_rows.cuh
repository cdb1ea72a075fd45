// Kernels that make rows from a Source and write them in the forms of RowOutputs.
//
// A Source has At(row, n), its row; that has Fetch<kVector>(at, n), which loads what four values
// from `at` on are made of (zeros beyond n) as a Source::Raw, and Make(raw), those four values.
#pragma once

#include "kernels/cuda/activations_row.cuh"

namespace fg::cuda {

// f16 rows alone, held in shared memory between the maximum and the writing. Loads run kAhead steps
// ahead of their use. Two blocks of the longest rows share a multiprocessor, so that one loads
// while the other finds its maximum and writes.
constexpr int kAhead = 3;
constexpr int kHeldSteps = 10, kHeldThreads = 512;
constexpr int kHeldBytes = 96 * 1024;  // what a block may have on every card from sm_80 on
constexpr int kWideThreads = 1024, kCutThreads = 256;

template <bool kVector, class Source>
__global__ void __launch_bounds__(kHeldThreads, 2)
    HeldF16Rows(Source source, int n, uint16_t* f16, float* scales) {
  extern __shared__ float4 held[];  // each thread reads what it wrote itself
  __shared__ uint32_t maxima[kMostWarps];
  const auto row = source.At(blockIdx.x, n);
  const RowOutputs out = RowOutputs{nullptr, f16, scales, nullptr}.Row(blockIdx.x, n);
  const int step = 4 * static_cast<int>(blockDim.x);
  const int first = 4 * static_cast<int>(threadIdx.x);
  typename Source::Raw raw[kAhead];
#pragma unroll
  for (int s = 0; s < kAhead; ++s) raw[s] = row.template Fetch<kVector>(first + s * step, n);
  float amax = 0;
  for (int base = first; base < n; base += kAhead * step) {
#pragma unroll
    for (int s = 0; s < kAhead; ++s) {
      const int at = base + s * step;
      if (at >= n) break;
      const float4 v = row.Make(raw[s]);
      raw[s] = row.template Fetch<kVector>(at + kAhead * step, n);
      amax = Largest(amax, v);
      held[at / 4] = v;
    }
  }
  const RowScale scale = ScaleOfRow(out, BlockMax(__float_as_uint(amax), maxima));
#pragma unroll 4
  for (int at = first; at < n; at += step) WriteFour<kVector>(out, at, n, held[at / 4], scale);
}

// Rows that no block can hold, or that are written in several forms: made twice, once for the
// maximum and once for writing.
template <bool kVector, class Source>
__global__ void __launch_bounds__(kWideThreads) WideRows(Source source, int n, RowOutputs outputs) {
  __shared__ uint32_t maxima[kMostWarps];
  const auto row = source.At(blockIdx.x, n);
  const RowOutputs out = outputs.Row(blockIdx.x, n);
  const int step = 4 * static_cast<int>(blockDim.x);
  const int first = 4 * static_cast<int>(threadIdx.x);
  float amax = 0;
  if (out.f16 != nullptr) {
    for (int at = first; at < n; at += step) {
      amax = Largest(amax, row.Make(row.template Fetch<kVector>(at, n)));
    }
  }
  const RowScale scale = ScaleOfRow(out, BlockMax(__float_as_uint(amax), maxima));
  // Whole warps go round, for the quantizer's sake.
  for (int base = 0; base < n; base += step) {
    const int at = base + first;
    WriteFour<kVector>(out, at, n, row.Make(row.template Fetch<kVector>(at, n)), scale);
  }
}

// No row maximum is wanted: each thread makes four values, a row is cut among blocks.
template <bool kVector, class Source>
__global__ void __launch_bounds__(kCutThreads) CutRows(Source source, int n, RowOutputs outputs) {
  const auto row = source.At(blockIdx.x, n);
  const int at = 4 * static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x);
  WriteFour<kVector>(outputs.Row(blockIdx.x, n), at, n,
                     row.Make(row.template Fetch<kVector>(at, n)), RowScale(0));
}

template <bool kVector, class Source>
cudaError_t LaunchHeld(const Source& source, int64_t rows, int n, const RowOutputs& outputs,
                       cudaStream_t stream) {
  constexpr auto kKernel = HeldF16Rows<kVector, Source>;
  static const cudaError_t allowed =
      cudaFuncSetAttribute(kKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kHeldBytes);
  static const cudaError_t preferred =
      cudaFuncSetAttribute(kKernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100);
  if (allowed != cudaSuccess) return allowed;
  if (preferred != cudaSuccess) return preferred;
  const int threads = ThreadsFor(n, n <= 8192 ? 4 : kHeldSteps, kHeldThreads);
  const size_t bytes = static_cast<size_t>((n + 3) / 4) * sizeof(float4);
  kKernel<<<static_cast<unsigned>(rows), threads, bytes, stream>>>(source, n, outputs.f16,
                                                                   outputs.f16_scale);
  return cudaGetLastError();
}

template <bool kVector, class Source>
cudaError_t LaunchRows(const Source& source, int64_t rows, int n, const RowOutputs& outputs,
                       cudaStream_t stream) {
  const unsigned grid = static_cast<unsigned>(rows);
  const int cut_threads = ThreadsFor(n, 1, kCutThreads);
  const dim3 cut(grid, static_cast<unsigned>((n + 4 * cut_threads - 1) / (4 * cut_threads)));
  if (outputs.f16 == nullptr && cut.y <= 65535) {
    CutRows<kVector><<<cut, cut_threads, 0, stream>>>(source, n, outputs);
    return cudaGetLastError();
  }
  const bool f16_alone = outputs.y == nullptr && outputs.chunks == nullptr;
  if (f16_alone && (n + 3) / 4 * 16 <= kHeldBytes) {
    return LaunchHeld<kVector>(source, rows, n, outputs, stream);
  }
  WideRows<kVector><<<grid, kWideThreads, 0, stream>>>(source, n, outputs);
  return cudaGetLastError();
}

// The rows by the kernel that fits them. `vector`: every array's rows are aligned (VectorRows).
template <class Source>
cudaError_t MakeRows(const Source& source, int64_t rows, int64_t n, const RowOutputs& outputs,
                     bool vector, cudaStream_t stream) {
  const bool any = outputs.y != nullptr || outputs.f16 != nullptr || outputs.chunks != nullptr;
  if (!ValidRows(rows, n) || (outputs.f16 != nullptr) != (outputs.f16_scale != nullptr) ||
      (outputs.chunks != nullptr && n % kBlock32 != 0)) {
    return cudaErrorInvalidValue;
  }
  if (rows == 0 || n == 0 || !any) return cudaSuccess;
  const int columns = static_cast<int>(n);
  return vector ? LaunchRows<true>(source, rows, columns, outputs, stream)
                : LaunchRows<false>(source, rows, columns, outputs, stream);
}

}  // namespace fg::cuda
