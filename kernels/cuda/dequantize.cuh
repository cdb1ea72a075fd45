// One value of a resident row, as kernels/formats/dequantize.cc has it. docs/gguf.md.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/resident_layout.h"
#include "kernels/formats/half.h"

namespace fg::cuda {

__device__ inline uint16_t HalfWordAt(const uint8_t* at) {
  return *reinterpret_cast<const uint16_t*>(at);
}

// Nibble i (0..31) of 16 bytes: the low ones first.
__device__ inline int NibbleAt(const uint8_t* q, int i) {
  const int byte = q[i % 16];
  return i < 16 ? byte & 15 : byte >> 4;
}

// Value i of a row of k values.
template <TensorType kType>
__device__ inline float ResidentValue(const uint8_t* row, int64_t k, int64_t i) {
  if constexpr (kType == TensorType::kF32) {
    return reinterpret_cast<const float*>(row)[i];
  } else if constexpr (kType == TensorType::kF16) {
    return F16ToF32(HalfWordAt(row + 2 * i));
  } else if constexpr (kType == TensorType::kBF16) {
    return BF16ToF32(HalfWordAt(row + 2 * i));
  } else if constexpr (kType == TensorType::kQ4_K) {
    const uint8_t* block = row + i / kSuperBlock * static_cast<int64_t>(sizeof(BlockQ4_K));
    const int at = static_cast<int>(i % kSuperBlock), j = at / 32;
    const ScaleMin sm = UnpackScaleMin(block + 4, j);
    const int byte = block[16 + 32 * (j / 2) + at % 32];
    const int n = j % 2 == 0 ? byte & 15 : byte >> 4;
    const float scale = __fmul_rn(F16ToF32(HalfWordAt(block)), static_cast<float>(sm.scale));
    const float min = __fmul_rn(F16ToF32(HalfWordAt(block + 2)), static_cast<float>(sm.min));
    return __fsub_rn(__fmul_rn(scale, static_cast<float>(n)), min);
  } else if constexpr (kType == TensorType::kQ6_K) {
    const int64_t n = k / kSuperBlock, b = i / kSuperBlock;
    const int at = static_cast<int>(i % kSuperBlock);
    const int half = at / 128, quarter = at / 32 % 4, l = at % 32;
    const int low = row[RowQ6_K::QL(n) + b * 128 + 64 * half + 32 * (quarter % 2) + l];
    const int high = row[RowQ6_K::QH(n) + b * 64 + 32 * half + l];
    const int code = (quarter < 2 ? low & 15 : low >> 4) | ((high >> (2 * quarter)) & 3) << 4;
    const int scale = static_cast<int8_t>(row[RowQ6_K::Scales(n) + b * 16 + at / 16]);
    const float d = F16ToF32(HalfWordAt(row + RowQ6_K::D(n) + 2 * b));
    return __fmul_rn(__fmul_rn(d, static_cast<float>(scale)), static_cast<float>(code - 32));
  } else {
    const int64_t n = k / kBlock32, b = i / kBlock32;
    const int at = static_cast<int>(i % kBlock32);
    if constexpr (kType == TensorType::kQ4_0) {
      const int code = NibbleAt(row + RowQ4_0::Q(n) + 16 * b, at);
      const float d = F16ToF32(HalfWordAt(row + RowQ4_0::D(n) + 2 * b));
      return __fmul_rn(d, static_cast<float>(code - 8));
    } else if constexpr (kType == TensorType::kQ5_0) {
      const int fifth = row[RowQ5_0::H(n) + 4 * b + at / 8] >> (at % 8) & 1;
      const int code = NibbleAt(row + RowQ5_0::Q(n) + 16 * b, at) | fifth << 4;
      const float d = F16ToF32(HalfWordAt(row + RowQ5_0::D(n) + 2 * b));
      return __fmul_rn(d, static_cast<float>(code - 16));
    } else {
      static_assert(kType == TensorType::kQ8_0);
      const int code = static_cast<int8_t>(row[RowQ8_0::Q(n) + 32 * b + at]);
      const float d = F16ToF32(HalfWordAt(row + RowQ8_0::D(n) + 2 * b));
      return __fmul_rn(d, static_cast<float>(code));
    }
  }
}

// Calls f.template operator()<type>() for a type that can be resident; false for any other.
template <class F>
bool ForResidentType(TensorType type, F&& f) {
  switch (type) {
    case TensorType::kF32:
      f.template operator()<TensorType::kF32>();
      return true;
    case TensorType::kF16:
      f.template operator()<TensorType::kF16>();
      return true;
    case TensorType::kBF16:
      f.template operator()<TensorType::kBF16>();
      return true;
    case TensorType::kQ4_0:
      f.template operator()<TensorType::kQ4_0>();
      return true;
    case TensorType::kQ5_0:
      f.template operator()<TensorType::kQ5_0>();
      return true;
    case TensorType::kQ8_0:
      f.template operator()<TensorType::kQ8_0>();
      return true;
    case TensorType::kQ4_K:
      f.template operator()<TensorType::kQ4_K>();
      return true;
    case TensorType::kQ6_K:
      f.template operator()<TensorType::kQ6_K>();
      return true;
    default:
      return false;
  }
}

}  // namespace fg::cuda
