// The tensor types a GGUF file can name, and how their values are grouped in blocks.
// Layouts: docs/gguf.md.
#pragma once

#include <cstdint>
#include <string_view>

namespace fg {

// Values are the ids of the file format.
enum class TensorType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kBF16 = 30,
};

struct TensorTypeInfo {
  TensorType type;
  const char* name;  // "q4_K"
  int block_values;  // values per block
  int block_bytes;   // bytes per block
  bool quantized;    // integer blocks with scales
  bool computable;   // kernels for it exist in this build
};

// Null for an id that no type bears.
const TensorTypeInfo* FindTensorType(uint32_t id);
// Null for an unknown name. Case matters: "q4_K".
const TensorTypeInfo* FindTensorType(std::string_view name);
// Of a type that exists.
const TensorTypeInfo& InfoOf(TensorType type);

// Bytes of a row of `values` values (a multiple of the type's block_values).
int64_t RowBytes(TensorType type, int64_t values);

}  // namespace fg
