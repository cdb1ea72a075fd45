// The resident layout of a weight by its words, block by block, for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/cuda/resident_layout.h"
#include "kernels/formats/tensor_type.h"

namespace fg::cuda {

constexpr TensorType kResidentTypes[] = {TensorType::kF32,  TensorType::kF16,  TensorType::kBF16,
                                         TensorType::kQ4_0, TensorType::kQ5_0, TensorType::kQ8_0,
                                         TensorType::kQ4_K, TensorType::kQ6_K};

// Appends a field of each of a row's blocks.
template <class Block, class Field>
void AppendField(const std::vector<Block>& blocks, Field Block::*field, std::vector<uint8_t>* row) {
  for (const Block& block : blocks) {
    const uint8_t* bytes = reinterpret_cast<const uint8_t*>(&(block.*field));
    row->insert(row->end(), bytes, bytes + sizeof(Field));
  }
}

template <class Block>
std::vector<Block> BlocksOf(const uint8_t* row, size_t bytes) {
  std::vector<Block> blocks(bytes / sizeof(Block));
  std::memcpy(blocks.data(), row, blocks.size() * sizeof(Block));
  return blocks;
}

// [rows][ResidentRowBytes] of [rows][RowBytes].
inline std::vector<uint8_t> ResidentOf(TensorType type, const std::vector<uint8_t>& file,
                                       int64_t rows, int64_t k) {
  const size_t bytes = static_cast<size_t>(RowBytes(type, k));
  std::vector<uint8_t> all;
  for (int64_t r = 0; r < rows; ++r) {
    const uint8_t* from = file.data() + static_cast<size_t>(r) * bytes;
    std::vector<uint8_t> row;
    if (type == TensorType::kQ4_0) {
      const auto blocks = BlocksOf<BlockQ4_0>(from, bytes);
      AppendField(blocks, &BlockQ4_0::q, &row);
      AppendField(blocks, &BlockQ4_0::d, &row);
    } else if (type == TensorType::kQ5_0) {
      const auto blocks = BlocksOf<BlockQ5_0>(from, bytes);
      AppendField(blocks, &BlockQ5_0::q, &row);
      AppendField(blocks, &BlockQ5_0::h, &row);
      AppendField(blocks, &BlockQ5_0::d, &row);
    } else if (type == TensorType::kQ8_0) {
      const auto blocks = BlocksOf<BlockQ8_0>(from, bytes);
      AppendField(blocks, &BlockQ8_0::q, &row);
      AppendField(blocks, &BlockQ8_0::d, &row);
    } else if (type == TensorType::kQ6_K) {
      const auto blocks = BlocksOf<BlockQ6_K>(from, bytes);
      AppendField(blocks, &BlockQ6_K::ql, &row);
      AppendField(blocks, &BlockQ6_K::qh, &row);
      AppendField(blocks, &BlockQ6_K::scales, &row);
      AppendField(blocks, &BlockQ6_K::d, &row);
    } else {
      row.assign(from, from + bytes);
    }
    if (IsGathered(type)) row.resize((row.size() + 15) / 16 * 16, 0);
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

}  // namespace fg::cuda
