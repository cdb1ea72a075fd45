// Values to blocks: what `fg-engine quantize` writes. Deterministic: the same input gives the same
// bytes on every machine (plain C++, of libm only fabs and sqrt).
#pragma once

#include <cstdint>

#include "kernels/formats/tensor_type.h"

namespace fg {

// Writes RowBytes(type, values) bytes to `blocks` from x[values], all finite. values is a multiple
// of block_values. Types: f32, f16, bf16, q4_0, q5_0, q8_0, q4_K, q6_K. False for any other type.
bool EncodeRow(TensorType type, const float* x, int64_t values, void* blocks);

}  // namespace fg
