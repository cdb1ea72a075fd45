#include "kernels/cuda/activations.h"

#include "kernels/cuda/activations_rows.cuh"

namespace fg::cuda {
namespace {

struct PlainRows {
  const float* x;

  using Raw = float4;
  struct Row {
    const float* x;
    template <bool kVector>
    __device__ Raw Fetch(int at, int n) const {
      return Load4<kVector>(x, at, n);
    }
    __device__ float4 Make(Raw raw) const { return raw; }
  };
  __device__ Row At(int64_t row, int n) const { return {x + row * n}; }
};

// Chunks know nothing of rows: [rows][k/32] is one list. kPer values a thread.
template <int kPer>
__global__ void __launch_bounds__(256)
    QuantizeList(const float* x, int64_t values, ActivationChunk* plane) {
  const int64_t at = kPer * (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x);
  float v[kPer] = {};
  if (at < values) {
    if constexpr (kPer == 4) {
      const float4 four = *reinterpret_cast<const float4*>(x + at);
      v[0] = four.x, v[1] = four.y, v[2] = four.z, v[3] = four.w;
    } else {
      v[0] = x[at];
    }
  }
  QuantizeGroup<kPer>(v, at < values ? plane + at / kBlock32 : nullptr);
}

__device__ float ScaledAndBiased(float v, const float* scale, float factor, const float* bias,
                                 float summand) {
  if (scale != nullptr) v = __fmul_rn(v, factor);
  if (bias != nullptr) v = __fadd_rn(v, summand);
  return v;
}

template <bool kVector>
__global__ void __launch_bounds__(256)
    ScaleBiasKernel(float* y, int n, const float* scale, const float* bias) {
  float* row = y + static_cast<int64_t>(blockIdx.x) * n;
  const int at = 4 * static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x);
  if (at >= n) return;
  const float factor = scale != nullptr ? scale[blockIdx.x] : 1.0f;
  float4 b = make_float4(0, 0, 0, 0);
  if (bias != nullptr) b = Load4<kVector>(bias, at, n);
  float4 v = Load4<kVector>(row, at, n);
  v.x = ScaledAndBiased(v.x, scale, factor, bias, b.x);
  v.y = ScaledAndBiased(v.y, scale, factor, bias, b.y);
  v.z = ScaledAndBiased(v.z, scale, factor, bias, b.z);
  v.w = ScaledAndBiased(v.w, scale, factor, bias, b.w);
  Store4<kVector>(row, at, n, v);
}

}  // namespace

cudaError_t QuantizeRows(const float* x, int64_t rows, int64_t k, ActivationChunk* plane,
                         cudaStream_t stream) {
  if (!ValidRows(rows, k) || k % kBlock32 != 0) return cudaErrorInvalidValue;
  const int64_t values = rows * k;
  if (values == 0) return cudaSuccess;
  const bool vector = VectorRows(k, x);
  const int64_t blocks = (values + 256 * (vector ? 4 : 1) - 1) / (256 * (vector ? 4 : 1));
  if (blocks > INT32_MAX) return cudaErrorInvalidValue;
  const unsigned grid = static_cast<unsigned>(blocks);
  if (vector) {
    QuantizeList<4><<<grid, 256, 0, stream>>>(x, values, plane);
  } else {
    QuantizeList<1><<<grid, 256, 0, stream>>>(x, values, plane);
  }
  return cudaGetLastError();
}

cudaError_t RowsToF16(const float* x, int64_t rows, int64_t k, uint16_t* f16, float* scale,
                      cudaStream_t stream) {
  return MakeRows(PlainRows{x}, rows, k, {nullptr, f16, scale, nullptr}, VectorRows(k, x, f16),
                  stream);
}

cudaError_t ScaleBias(float* y, int64_t rows, int64_t n, const float* scale, const float* bias,
                      cudaStream_t stream) {
  if (!ValidRows(rows, n)) return cudaErrorInvalidValue;
  if (rows == 0 || n == 0 || (scale == nullptr && bias == nullptr)) return cudaSuccess;
  const int threads = ThreadsFor(n, 1, 256);
  const int64_t blocks = (n + 4 * threads - 1) / (4 * threads);
  if (blocks > 65535) return cudaErrorInvalidValue;
  const dim3 grid(static_cast<unsigned>(rows), static_cast<unsigned>(blocks));
  if (VectorRows(n, y, bias)) {
    ScaleBiasKernel<true><<<grid, threads, 0, stream>>>(y, static_cast<int>(n), scale, bias);
  } else {
    ScaleBiasKernel<false><<<grid, threads, 0, stream>>>(y, static_cast<int>(n), scale, bias);
  }
  return cudaGetLastError();
}

}  // namespace fg::cuda
