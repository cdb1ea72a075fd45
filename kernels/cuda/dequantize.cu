#include "kernels/cuda/dequantize.cuh"

#include "kernels/cuda/quantize.cuh"
#include "kernels/cuda/resident.h"

namespace fg::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPer = 8;                       // neighbouring values of a thread
constexpr uint32_t kBeyondF16 = 0x477FF000u;  // magnitudes from here on round to infinity

// Values at `first`.. of the whole weight, which are [out][k] in their order. A group of 8 lies in
// one row: k is a multiple of 32, or rows have no padding and their bounds do not matter.
template <TensorType kType>
__global__ void __launch_bounds__(kThreads)
    DequantizeKernel(const uint8_t* w, int64_t count, int64_t k, int64_t row_bytes, uint16_t* f16,
                     bool aligned, unsigned long long* beyond) {
  constexpr bool kBlocks =
      kType != TensorType::kF32 && kType != TensorType::kF16 && kType != TensorType::kBF16;
  const int64_t first = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kPer;
  if (first >= count) return;
  const int64_t row = kBlocks ? first / k : 0, column = first - row * k;
  const uint8_t* at = w + row * row_bytes;
  uint32_t halves[kPer];
  int64_t bad = -1;
#pragma unroll
  for (int i = kPer - 1; i >= 0; --i) {
    halves[i] = 0;
    if (first + i >= count) continue;
    const float value = ResidentValue<kType>(at, k, column + i);
    halves[i] = F16Bits(value);
    if (MagnitudeBits(value) >= kBeyondF16) bad = first + i;
  }
  if (bad >= 0) atomicMin(beyond, static_cast<unsigned long long>(bad));
  if (aligned && first + kPer <= count) {
    *reinterpret_cast<uint4*>(f16 + first) =
        make_uint4(halves[0] | halves[1] << 16, halves[2] | halves[3] << 16,
                   halves[4] | halves[5] << 16, halves[6] | halves[7] << 16);
    return;
  }
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    if (first + i < count) f16[first + i] = static_cast<uint16_t>(halves[i]);
  }
}

}  // namespace

cudaError_t DequantizeToF16(TensorType type, const void* w, int64_t out, int64_t k, uint16_t* f16,
                            unsigned long long* beyond, cudaStream_t stream) {
  if (out < 0 || k < 0) return cudaErrorInvalidValue;
  const int64_t count = out * k;
  const int64_t grid = (count + kThreads * kPer - 1) / (kThreads * kPer);
  if (grid > INT32_MAX) return cudaErrorInvalidValue;
  if (count == 0) return cudaSuccess;
  const bool aligned = reinterpret_cast<uintptr_t>(f16) % 16 == 0;
  const bool known = ForResidentType(type, [&]<TensorType kType>() {
    DequantizeKernel<kType><<<static_cast<unsigned>(grid), kThreads, 0, stream>>>(
        static_cast<const uint8_t*>(w), count, k, ResidentRowBytes(kType, k), f16, aligned, beyond);
  });
  return known ? cudaGetLastError() : cudaErrorInvalidValue;
}

}  // namespace fg::cuda
