// Taking a weight over: from the file's bytes to the resident layout, and from there to f16.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/resident_layout.h"

namespace fg::cuda {

// to[rows][ResidentRowBytes] = the rows at `from` (device memory, [rows][RowBytes] as in the file;
// 2-byte aligned). Padding is written as zeros. For a type that is not gathered, a copy.
cudaError_t GatherResidentRows(TensorType type, const void* from, int64_t rows, int64_t k, void* to,
                               cudaStream_t stream);

// f16[out][k] = the resident weight, dequantized to f32 (docs/gguf.md) and rounded to nearest even,
// subnormals kept. *beyond (device) is set to the smallest index row*k + column of a value that is
// not finite in f16 (|v| >= 65520, NaN), by atomicMin from the INT64_MAX that the caller puts
// there. Types: all of ResidentRowBytes.
cudaError_t DequantizeToF16(TensorType type, const void* w, int64_t out, int64_t k, uint16_t* f16,
                            unsigned long long* beyond, cudaStream_t stream);

// y[rows][k] f32 = rows ids[r] of the resident table, dequantized; the ids (device) lie in [0,
// out).
cudaError_t Embed(TensorType type, const void* table, int64_t k, const int32_t* ids, int64_t rows,
                  float* y, cudaStream_t stream);

}  // namespace fg::cuda
