#include "kernels/cuda/dequantize.cuh"
#include "kernels/cuda/resident.h"

namespace fg::cuda {
namespace {

constexpr int kThreads = 256;

template <TensorType kType>
__global__ void __launch_bounds__(kThreads)
    EmbedKernel(const uint8_t* table, int64_t k, int64_t row_bytes, const int32_t* ids, float* y) {
  const int64_t row = blockIdx.x,
                column = static_cast<int64_t>(blockIdx.y) * kThreads + threadIdx.x;
  if (column >= k) return;
  y[row * k + column] = ResidentValue<kType>(table + ids[row] * row_bytes, k, column);
}

}  // namespace

cudaError_t Embed(TensorType type, const void* table, int64_t k, const int32_t* ids, int64_t rows,
                  float* y, cudaStream_t stream) {
  const int64_t columns = (k + kThreads - 1) / kThreads;
  if (k < 0 || rows < 0 || rows > INT32_MAX || columns > 65535) return cudaErrorInvalidValue;
  if (k == 0 || rows == 0) return cudaSuccess;
  const dim3 grid(static_cast<unsigned>(rows), static_cast<unsigned>(columns));
  const bool known = ForResidentType(type, [&]<TensorType kType>() {
    EmbedKernel<kType><<<grid, kThreads, 0, stream>>>(static_cast<const uint8_t*>(table), k,
                                                      ResidentRowBytes(kType, k), ids, y);
  });
  return known ? cudaGetLastError() : cudaErrorInvalidValue;
}

}  // namespace fg::cuda
