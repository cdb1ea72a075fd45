// How a weight lies on the device: its file's bytes, taken over once. Blocks whose size is a
// multiple of 16 (q4_K, 144 bytes) lie as they do in the file; the fields of the others (q4_0,
// q5_0, q8_0, q6_K) are gathered per row, so that a kernel can load 16 bytes at a time. Same bytes,
// other places; a row's length is rounded up to 16. Index functions are constexpr, for host and
// device alike.
#pragma once

#include <cstdint>

#include "kernels/formats/blocks.h"
#include "kernels/formats/tensor_type.h"

namespace fg::cuda {

// Whether a row's fields are gathered: [fields of all blocks, one after the other, in the order of
// FieldsOf]. f32, f16, bf16 and q4_K rows lie as in the file.
constexpr bool IsGathered(TensorType type) {
  return type == TensorType::kQ4_0 || type == TensorType::kQ5_0 || type == TensorType::kQ8_0 ||
         type == TensorType::kQ6_K;
}

// A gathered row of n blocks, byte offsets of each field's array; the biggest alignment first.
struct RowQ4_0 {  // q[n][16], d[n] f16
  static constexpr int64_t Q(int64_t) { return 0; }
  static constexpr int64_t D(int64_t n) { return n * 16; }
};
struct RowQ5_0 {  // q[n][16], h[n] u32 little-endian, d[n] f16
  static constexpr int64_t Q(int64_t) { return 0; }
  static constexpr int64_t H(int64_t n) { return n * 16; }
  static constexpr int64_t D(int64_t n) { return n * 20; }
};
struct RowQ8_0 {  // q[n][32], d[n] f16
  static constexpr int64_t Q(int64_t) { return 0; }
  static constexpr int64_t D(int64_t n) { return n * 32; }
};
struct RowQ6_K {  // ql[n][128], qh[n][64], scales[n][16], d[n] f16
  static constexpr int64_t QL(int64_t) { return 0; }
  static constexpr int64_t QH(int64_t n) { return n * 128; }
  static constexpr int64_t Scales(int64_t n) { return n * 192; }
  static constexpr int64_t D(int64_t n) { return n * 208; }
};

constexpr int64_t RoundUp16(int64_t bytes) { return (bytes + 15) / 16 * 16; }

// Bytes from one row to the next; k a multiple of the type's block. A row of f16, bf16 or f32 keeps
// its own length (k * 2 or k * 4), so rows of odd k are not aligned to 16: kernels look.
constexpr int64_t ResidentRowBytes(TensorType type, int64_t k) {
  switch (type) {
    case TensorType::kF32:
      return k * 4;
    case TensorType::kF16:
    case TensorType::kBF16:
      return k * 2;
    case TensorType::kQ4_0:
      return RoundUp16(k / 32 * 18);
    case TensorType::kQ5_0:
      return RoundUp16(k / 32 * 22);
    case TensorType::kQ8_0:
      return RoundUp16(k / 32 * 34);
    case TensorType::kQ4_K:
      return k / 256 * 144;
    case TensorType::kQ6_K:
      return RoundUp16(k / 256 * 210);
    default:
      return 0;
  }
}

}  // namespace fg::cuda
