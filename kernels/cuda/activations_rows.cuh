// Kernels that make rows from a Source and write them in the forms of RowOutputs.
//
// A Source has Row(row, n), the same source moved to a row, and Four<kVector>(at, n), its four
// values from `at` on (zeros beyond n).
#pragma once

#include "kernels/cuda/activations_row.cuh"

namespace fg::cuda {

// f16 rows alone, held by their block between the maximum and the writing. Ten steps of four leave
// 24 of 64 registers to the work, and two blocks of up to 512 threads on a multiprocessor, so that
// one loads while the other finds its maximum. Enough for 20480 values.
constexpr int kFewSteps = 4, kManySteps = 10, kHeldThreads = 512, kWideThreads = 1024;

template <bool kVector, int kSteps, class Source>
__global__ void __launch_bounds__(kHeldThreads, 2)
    HeldF16Rows(Source source, int n, uint16_t* f16, float* scale) {
  __shared__ uint32_t maxima[kMostWarps];
  const Source row = source.Row(blockIdx.x, n);
  float4 v[kSteps];
#pragma unroll
  for (int j = 0; j < kSteps; ++j) {
    v[j] = row.template Four<kVector>(4 * static_cast<int>(j * blockDim.x + threadIdx.x), n);
  }
  const RowOutputs outputs = {nullptr, f16, scale, nullptr};
  WriteHeldRow<kVector>(outputs.Row(blockIdx.x, n), n, v, maxima);
}

// Rows that no block can hold, or that are written in several forms: made twice, once for the
// maximum and once for writing.
template <bool kVector, class Source>
__global__ void __launch_bounds__(kWideThreads) WideRows(Source source, int n, RowOutputs outputs) {
  __shared__ uint32_t maxima[kMostWarps];
  const Source row = source.Row(blockIdx.x, n);
  const RowOutputs out = outputs.Row(blockIdx.x, n);
  const int step = 4 * static_cast<int>(blockDim.x);
  const int first = 4 * static_cast<int>(threadIdx.x);
  float amax = 0;
  if (out.f16 != nullptr) {
    for (int at = first; at < n; at += step) {
      amax = Largest(amax, row.template Four<kVector>(at, n));
    }
  }
  const RowScale scale = ScaleOfRow(out, BlockMax(__float_as_uint(amax), maxima));
  // Whole warps go round, for the quantizer's sake.
  for (int base = 0; base < n; base += step) {
    const int at = base + first;
    WriteFour<kVector>(out, at, n, row.template Four<kVector>(at, n), scale);
  }
}

// No row maximum is wanted: each thread makes four values, a row is cut among blocks.
template <bool kVector, class Source>
__global__ void __launch_bounds__(256) CutRows(Source source, int n, RowOutputs outputs) {
  const Source row = source.Row(blockIdx.x, n);
  const int at = 4 * static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x);
  WriteFour<kVector>(outputs.Row(blockIdx.x, n), at, n, row.template Four<kVector>(at, n),
                     RowScale(0));
}

template <bool kVector, class Source>
cudaError_t LaunchRows(const Source& source, int64_t rows, int n, const RowOutputs& outputs,
                       cudaStream_t stream) {
  constexpr int kCutThreads = 256;
  const unsigned grid = static_cast<unsigned>(rows);
  const bool f16_alone = outputs.y == nullptr && outputs.chunks == nullptr;
  const int cut_threads = ThreadsFor(n, 1, kCutThreads);
  const dim3 cut(grid, static_cast<unsigned>((n + 4 * cut_threads - 1) / (4 * cut_threads)));
  if (outputs.f16 == nullptr && cut.y <= 65535) {
    CutRows<kVector><<<cut, cut_threads, 0, stream>>>(source, n, outputs);
  } else if (f16_alone && n <= 4 * kFewSteps * kHeldThreads) {
    const int threads = ThreadsFor(n, kFewSteps, kHeldThreads);
    HeldF16Rows<kVector, kFewSteps>
        <<<grid, threads, 0, stream>>>(source, n, outputs.f16, outputs.f16_scale);
  } else if (f16_alone && n <= 4 * kManySteps * kHeldThreads) {
    const int threads = ThreadsFor(n, kManySteps, kHeldThreads);
    HeldF16Rows<kVector, kManySteps>
        <<<grid, threads, 0, stream>>>(source, n, outputs.f16, outputs.f16_scale);
  } else {
    WideRows<kVector><<<grid, kWideThreads, 0, stream>>>(source, n, outputs);
  }
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
