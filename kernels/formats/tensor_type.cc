#include "kernels/formats/tensor_type.h"

#include <array>
#include <cassert>

namespace fg {
namespace {

// The table of docs/gguf.md.
constexpr std::array<TensorTypeInfo, 13> kTypes = {{
    {TensorType::kF32, "f32", 1, 4, false, true},
    {TensorType::kF16, "f16", 1, 2, false, true},
    {TensorType::kQ4_0, "q4_0", 32, 18, true, true},
    {TensorType::kQ4_1, "q4_1", 32, 20, true, false},
    {TensorType::kQ5_0, "q5_0", 32, 22, true, true},
    {TensorType::kQ5_1, "q5_1", 32, 24, true, false},
    {TensorType::kQ8_0, "q8_0", 32, 34, true, true},
    {TensorType::kQ2_K, "q2_K", 256, 84, true, false},
    {TensorType::kQ3_K, "q3_K", 256, 110, true, false},
    {TensorType::kQ4_K, "q4_K", 256, 144, true, true},
    {TensorType::kQ5_K, "q5_K", 256, 176, true, false},
    {TensorType::kQ6_K, "q6_K", 256, 210, true, true},
    {TensorType::kBF16, "bf16", 1, 2, false, true},
}};

}  // namespace

const TensorTypeInfo* FindTensorType(uint32_t id) {
  for (const TensorTypeInfo& info : kTypes) {
    if (static_cast<uint32_t>(info.type) == id) return &info;
  }
  return nullptr;
}

const TensorTypeInfo* FindTensorType(std::string_view name) {
  for (const TensorTypeInfo& info : kTypes) {
    if (name == info.name) return &info;
  }
  return nullptr;
}

const TensorTypeInfo& InfoOf(TensorType type) {
  const TensorTypeInfo* info = FindTensorType(static_cast<uint32_t>(type));
  assert(info != nullptr && "a TensorType is one of the enumerators");
  return *info;
}

int64_t RowBytes(TensorType type, int64_t values) {
  const TensorTypeInfo& info = InfoOf(type);
  assert(values % info.block_values == 0);
  return values / info.block_values * info.block_bytes;
}

}  // namespace fg
