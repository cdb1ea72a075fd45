// Where the bytes of a gathered row come from, in halfwords: every field of every block has an even
// size. docs/gguf.md has the blocks, resident_layout.h the gathered rows.
#pragma once

#include <cstdint>

#include "kernels/cuda/resident_layout.h"

namespace fg::cuda {

constexpr int64_t kPaddingSource = -1;

// A field of the block: `halves` halfwords from `at` on, in the block of the file.
struct BlockField {
  int64_t halves, at;
};

// Halfword `half` of an array of this field over all blocks, in the row of the file.
constexpr int64_t FieldSource(int64_t half, BlockField field, int64_t block_halves) {
  return half / field.halves * block_halves + field.at + half % field.halves;
}

// The halfword of the file's row of n blocks that lies at halfword `half` (0 up to
// ResidentRowBytes / 2 - 1) of the gathered row; kPaddingSource for the padding at its end. A type
// that is gathered.
constexpr int64_t GatherSource(TensorType type, int64_t n, int64_t half) {
  switch (type) {
    case TensorType::kQ4_0:
      if (half < RowQ4_0::D(n) / 2) return FieldSource(half, {8, 1}, 9);
      half -= RowQ4_0::D(n) / 2;
      return half < n ? FieldSource(half, {1, 0}, 9) : kPaddingSource;
    case TensorType::kQ5_0:
      if (half < RowQ5_0::H(n) / 2) return FieldSource(half, {8, 3}, 11);
      if (half < RowQ5_0::D(n) / 2) return FieldSource(half - RowQ5_0::H(n) / 2, {2, 1}, 11);
      half -= RowQ5_0::D(n) / 2;
      return half < n ? FieldSource(half, {1, 0}, 11) : kPaddingSource;
    case TensorType::kQ8_0:
      if (half < RowQ8_0::D(n) / 2) return FieldSource(half, {16, 1}, 17);
      half -= RowQ8_0::D(n) / 2;
      return half < n ? FieldSource(half, {1, 0}, 17) : kPaddingSource;
    case TensorType::kQ6_K:
      if (half < RowQ6_K::QH(n) / 2) return FieldSource(half, {64, 0}, 105);
      if (half < RowQ6_K::Scales(n) / 2) {
        return FieldSource(half - RowQ6_K::QH(n) / 2, {32, 64}, 105);
      }
      if (half < RowQ6_K::D(n) / 2) return FieldSource(half - RowQ6_K::Scales(n) / 2, {8, 96}, 105);
      half -= RowQ6_K::D(n) / 2;
      return half < n ? FieldSource(half, {1, 104}, 105) : kPaddingSource;
    default:
      return kPaddingSource;
  }
}

}  // namespace fg::cuda
