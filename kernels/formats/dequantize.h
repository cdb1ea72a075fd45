// Blocks to values. Every format's value is exact in real arithmetic but for one rounding at most:
// products of q4_0, q5_0, q8_0 and q6_K fit f32; q4_K rounds the one subtraction d*sc*n - dmin*m.
#pragma once

#include <cstdint>

#include "kernels/formats/tensor_type.h"

namespace fg {

// out[values] from the row at `blocks`. values is a multiple of the type's block_values.
// Types: f32, f16, bf16, q4_0, q5_0, q8_0, q4_K, q6_K. False for any other type; out is untouched
// then.
bool DequantizeRow(TensorType type, const void* blocks, int64_t values, float* out);

// The same in double, without any rounding: the reference.
bool DequantizeRowExact(TensorType type, const void* blocks, int64_t values, double* out);

}  // namespace fg
