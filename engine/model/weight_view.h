#pragma once

#include <cstdint>
#include <string>

#include "kernels/formats/tensor_type.h"

namespace fg {

// A matrix as it lies in the model file (or in a test's buffer): out rows of k values.
struct WeightView {
  std::string name;  // "blk.0.attn_q.weight"
  TensorType type = TensorType::kF32;
  const void* data = nullptr;  // [out][k], rows of RowBytes(type, k); not owned
  int64_t k = 0;               // values of a row: GGUF's innermost dimension
  int64_t out = 0;             // rows
};

}  // namespace fg
