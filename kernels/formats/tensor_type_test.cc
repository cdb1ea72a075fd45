#include "kernels/formats/tensor_type.h"

#include <gtest/gtest.h>

#include "kernels/formats/blocks.h"

namespace fg {
namespace {

TEST(TensorType, IdsNamesAndBlocks) {
  struct Row {
    uint32_t id;
    const char* name;
    int values;
    int bytes;
    bool quantized;
    bool computable;
  };
  const Row rows[] = {
      {0, "f32", 1, 4, false, true},       {1, "f16", 1, 2, false, true},
      {2, "q4_0", 32, 18, true, true},     {3, "q4_1", 32, 20, true, false},
      {6, "q5_0", 32, 22, true, true},     {7, "q5_1", 32, 24, true, false},
      {8, "q8_0", 32, 34, true, true},     {10, "q2_K", 256, 84, true, false},
      {11, "q3_K", 256, 110, true, false}, {12, "q4_K", 256, 144, true, true},
      {13, "q5_K", 256, 176, true, false}, {14, "q6_K", 256, 210, true, true},
      {30, "bf16", 1, 2, false, true},
  };
  for (const Row& row : rows) {
    const TensorTypeInfo* info = FindTensorType(row.id);
    ASSERT_NE(info, nullptr) << row.name;
    EXPECT_STREQ(info->name, row.name);
    EXPECT_EQ(static_cast<uint32_t>(info->type), row.id);
    EXPECT_EQ(info->block_values, row.values) << row.name;
    EXPECT_EQ(info->block_bytes, row.bytes) << row.name;
    EXPECT_EQ(info->quantized, row.quantized) << row.name;
    EXPECT_EQ(info->computable, row.computable) << row.name;
    EXPECT_EQ(FindTensorType(std::string_view(row.name)), info);
    EXPECT_EQ(&InfoOf(info->type), info);
  }
}

TEST(TensorType, UnknownIdsAndNames) {
  for (const uint32_t id : {4u, 5u, 9u, 15u, 29u, 31u, 0xFFFFFFFFu}) {
    EXPECT_EQ(FindTensorType(id), nullptr) << id;
  }
  for (const char* name : {"", "Q4_K", "q4_k", "q4_K ", "f64"}) {
    EXPECT_EQ(FindTensorType(std::string_view(name)), nullptr) << name;
  }
}

TEST(TensorType, RowBytes) {
  EXPECT_EQ(RowBytes(TensorType::kF32, 3), 12);
  EXPECT_EQ(RowBytes(TensorType::kBF16, 3), 6);
  EXPECT_EQ(RowBytes(TensorType::kQ4_0, 4544), 142 * 18);
  EXPECT_EQ(RowBytes(TensorType::kQ4_K, 1024), 4 * 144);
  EXPECT_EQ(RowBytes(TensorType::kQ6_K, 0), 0);
}

// A row of 2^40 values must not be computed in 32 bits.
TEST(TensorType, RowBytesOfLargeRows) {
  EXPECT_EQ(RowBytes(TensorType::kQ6_K, int64_t{1} << 40), (int64_t{1} << 32) * 210);
}

}  // namespace
}  // namespace fg
