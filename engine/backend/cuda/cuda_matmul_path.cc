#include "engine/backend/cuda/cuda_matmul_path.h"

namespace fg {

CudaMatmulPath ChooseCudaMatmulPath(const Gates& gates, TensorType type, int64_t k, int64_t rows,
                                    Phase phase) {
  const bool wide = rows >= kPrefillRows && k % 32 == 0 && gates.settings().prefill_gemm;
  if (wide) return type == TensorType::kF32 ? CudaMatmulPath::kGemmF32 : CudaMatmulPath::kGemmF16;
  if (phase == Phase::kDecode && gates.faults().Active(Fault::kGateReadInDecode)) {
    (void)gates.On(Gate::kMmq, phase);
  }
  return CudaMatmulPath::kRows;
}

std::string CudaMatmulLabel(CudaMatmulPath path, TensorType type) {
  const char* family = path == CudaMatmulPath::kRows      ? "row."
                       : path == CudaMatmulPath::kGemmF16 ? "gemm.f16."
                                                          : "gemm.f32.";
  return std::string(family) + InfoOf(type).name;
}

}  // namespace fg
