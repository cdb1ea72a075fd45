#include "kernels/formats/dequantize.h"

#include <cassert>

#include "kernels/formats/blocks.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

// Each product below is exact in f32 (an 11-bit d, an 8-bit scale, a 6-bit value at most), so the
// two instantiations differ in the one subtraction of q4_K alone.
template <typename Float>
void DecodeQ4_0(const BlockQ4_0& block, Float* out) {
  const Float d = F16ToF32(block.d);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<Float>((block.q[i] & 15) - 8);
    out[i + 16] = d * static_cast<Float>((block.q[i] >> 4) - 8);
  }
}

template <typename Float>
void DecodeQ5_0(const BlockQ5_0& block, Float* out) {
  const Float d = F16ToF32(block.d);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<Float>(CodeOfQ5_0(block, i) - 16);
}

template <typename Float>
void DecodeQ8_0(const BlockQ8_0& block, Float* out) {
  const Float d = F16ToF32(block.d);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<Float>(block.q[i]);
}

template <typename Float>
void DecodeQ4_K(const BlockQ4_K& block, Float* out) {
  const Float d = F16ToF32(block.d);
  const Float dmin = F16ToF32(block.dmin);
  for (int j = 0; j < 8; ++j) {
    const ScaleMin sm = UnpackScaleMin(block.s, j);
    const Float scale = d * sm.scale;
    const Float min = dmin * sm.min;
    const uint8_t* q = block.q + 32 * (j / 2);
    for (int i = 0; i < 32; ++i) {
      const int n = j % 2 == 0 ? q[i] & 15 : q[i] >> 4;
      out[32 * j + i] = scale * static_cast<Float>(n) - min;
    }
  }
}

template <typename Float>
void DecodeQ6_K(const BlockQ6_K& block, Float* out) {
  const Float d = F16ToF32(block.d);
  for (int half = 0; half < 2; ++half) {
    const uint8_t* ql = block.ql + 64 * half;
    const uint8_t* qh = block.qh + 32 * half;
    const int8_t* scales = block.scales + 8 * half;
    Float* y = out + 128 * half;
    for (int l = 0; l < 32; ++l) {
      const int n[4] = {
          (ql[l] & 15) | ((qh[l] & 3) << 4), (ql[l + 32] & 15) | (((qh[l] >> 2) & 3) << 4),
          (ql[l] >> 4) | (((qh[l] >> 4) & 3) << 4), (ql[l + 32] >> 4) | ((qh[l] >> 6) << 4)};
      for (int c = 0; c < 4; ++c) {
        const Float scale = d * static_cast<Float>(scales[2 * c + l / 16]);
        y[32 * c + l] = scale * static_cast<Float>(n[c] - 32);
      }
    }
  }
}

template <typename Block, typename Float>
void DecodeBlocks(void (*decode)(const Block&, Float*), int block_values, const void* blocks,
                  int64_t values, Float* out) {
  assert(values % block_values == 0);
  const Block* block = static_cast<const Block*>(blocks);
  for (int64_t i = 0; i < values; i += block_values) decode(*block++, out + i);
}

template <typename Float>
bool Dequantize(TensorType type, const void* blocks, int64_t values, Float* out) {
  switch (type) {
    case TensorType::kF32:
      for (int64_t i = 0; i < values; ++i) out[i] = static_cast<const float*>(blocks)[i];
      return true;
    case TensorType::kF16:
      for (int64_t i = 0; i < values; ++i) {
        out[i] = F16ToF32(static_cast<const uint16_t*>(blocks)[i]);
      }
      return true;
    case TensorType::kBF16:
      for (int64_t i = 0; i < values; ++i) {
        out[i] = BF16ToF32(static_cast<const uint16_t*>(blocks)[i]);
      }
      return true;
    case TensorType::kQ4_0:
      DecodeBlocks<BlockQ4_0, Float>(DecodeQ4_0, kBlock32, blocks, values, out);
      return true;
    case TensorType::kQ5_0:
      DecodeBlocks<BlockQ5_0, Float>(DecodeQ5_0, kBlock32, blocks, values, out);
      return true;
    case TensorType::kQ8_0:
      DecodeBlocks<BlockQ8_0, Float>(DecodeQ8_0, kBlock32, blocks, values, out);
      return true;
    case TensorType::kQ4_K:
      DecodeBlocks<BlockQ4_K, Float>(DecodeQ4_K, kSuperBlock, blocks, values, out);
      return true;
    case TensorType::kQ6_K:
      DecodeBlocks<BlockQ6_K, Float>(DecodeQ6_K, kSuperBlock, blocks, values, out);
      return true;
    default:
      return false;
  }
}

}  // namespace

bool DequantizeRow(TensorType type, const void* blocks, int64_t values, float* out) {
  return Dequantize(type, blocks, values, out);
}

bool DequantizeRowExact(TensorType type, const void* blocks, int64_t values, double* out) {
  return Dequantize(type, blocks, values, out);
}

}  // namespace fg
