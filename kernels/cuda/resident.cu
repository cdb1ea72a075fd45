#include "kernels/cuda/resident.h"

#include <cuda_runtime.h>

#include "kernels/cuda/resident_gather.h"

namespace fg::cuda {
namespace {

constexpr int kThreads = 256;

constexpr int BlockHalves(TensorType type) {
  switch (type) {
    case TensorType::kQ4_0:
      return 9;
    case TensorType::kQ5_0:
      return 11;
    case TensorType::kQ8_0:
      return 17;
    default:
      return 105;  // q6_K
  }
}

// A thread makes 16 bytes of a gathered row.
template <TensorType kType>
__global__ void __launch_bounds__(kThreads)
    GatherKernel(const uint16_t* from, int64_t rows, int blocks, int pieces, uint4* to) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= rows * pieces) return;
  const uint16_t* row = from + at / pieces * blocks * BlockHalves(kType);
  const int first = static_cast<int>(at % pieces) * 8;
  uint32_t words[4] = {};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int64_t source = GatherSource(kType, blocks, first + i);
    const uint32_t half = source == kPaddingSource ? 0 : row[source];
    words[i / 2] |= half << (16 * (i % 2));
  }
  to[at] = make_uint4(words[0], words[1], words[2], words[3]);
}

template <TensorType kType>
cudaError_t Gather(const void* from, int64_t rows, int64_t blocks, int64_t row_bytes, void* to,
                   cudaStream_t stream) {
  const int64_t pieces = row_bytes / 16;
  const int64_t grid = (rows * pieces + kThreads - 1) / kThreads;
  if (grid > INT32_MAX || row_bytes > INT32_MAX) return cudaErrorInvalidValue;
  GatherKernel<kType><<<static_cast<unsigned>(grid), kThreads, 0, stream>>>(
      static_cast<const uint16_t*>(from), rows, static_cast<int>(blocks), static_cast<int>(pieces),
      static_cast<uint4*>(to));
  return cudaGetLastError();
}

}  // namespace

cudaError_t GatherResidentRows(TensorType type, const void* from, int64_t rows, int64_t k, void* to,
                               cudaStream_t stream) {
  const int64_t row_bytes = ResidentRowBytes(type, k);
  if (rows < 0 || k < 0 || row_bytes < 0) return cudaErrorInvalidValue;
  if (rows == 0 || k == 0) return cudaSuccess;
  if (row_bytes == 0) return cudaErrorInvalidValue;
  switch (type) {
    case TensorType::kQ4_0:
      return Gather<TensorType::kQ4_0>(from, rows, k / kBlock32, row_bytes, to, stream);
    case TensorType::kQ5_0:
      return Gather<TensorType::kQ5_0>(from, rows, k / kBlock32, row_bytes, to, stream);
    case TensorType::kQ8_0:
      return Gather<TensorType::kQ8_0>(from, rows, k / kBlock32, row_bytes, to, stream);
    case TensorType::kQ6_K:
      return Gather<TensorType::kQ6_K>(from, rows, k / kSuperBlock, row_bytes, to, stream);
    default:
      return cudaMemcpyAsync(to, from, static_cast<size_t>(rows * row_bytes),
                             cudaMemcpyDeviceToDevice, stream);
  }
}

}  // namespace fg::cuda
