#pragma once

#include <cstdint>
#include <string>

#include "engine/gates.h"
#include "engine/phase.h"
#include "kernels/formats/tensor_type.h"

namespace fg {

// Which kernels a matmul weight takes at 16 rows or more: the f16 GEMM, the f32 GEMM of f32
// weights, or, where k is no multiple of 32 or FG_PREFILL_GEMM=0, the one-row kernels.
enum class CudaMatmulPath { kRows, kGemmF16, kGemmF32 };

// For `rows` rows of k values. Reads no gate: those of the int8 family are degraded at load.
CudaMatmulPath ChooseCudaMatmulPath(const Gates& gates, TensorType type, int64_t k, int64_t rows,
                                    Phase phase);

// "row.q4_K", "gemm.f16.q4_K", "gemm.f32.f32": docs/probe.md "Labels".
std::string CudaMatmulLabel(CudaMatmulPath path, TensorType type);

}  // namespace fg
