#include "kernels/cpu/matvec.h"

#include <cassert>

#include "kernels/cpu/matvec_levels.h"

namespace fg {

void MatvecQuantized(CpuLevel level, TensorType type, const void* w, const ActivationChunk* a,
                     int64_t k, const float* bias, Range outs, float* y) {
  assert(InfoOf(type).quantized && InfoOf(type).computable);
  assert(k % InfoOf(type).block_values == 0);
  switch (level) {
    case CpuLevel::kPlain:
      return MatvecQuantizedPlain(type, w, a, k, bias, outs, y);
    case CpuLevel::kAvx2:
      return MatvecQuantizedAvx2(type, w, a, k, bias, outs, y);
    case CpuLevel::kAvx512:
      return MatvecQuantizedAvx512(type, w, a, k, bias, outs, y);
  }
}

void MatvecFloat(CpuLevel level, TensorType type, const void* w, const float* x, int64_t k,
                 const float* bias, Range outs, float* y) {
  assert(type == TensorType::kF32 || type == TensorType::kF16 || type == TensorType::kBF16);
  switch (level) {
    case CpuLevel::kPlain:
      return MatvecFloatPlain(type, w, x, k, bias, outs, y);
    case CpuLevel::kAvx2:
      return MatvecFloatAvx2(type, w, x, k, bias, outs, y);
    case CpuLevel::kAvx512:
      return MatvecFloatAvx512(type, w, x, k, bias, outs, y);
  }
}

}  // namespace fg
