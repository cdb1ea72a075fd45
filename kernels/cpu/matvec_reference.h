// The one-row float product by its definition, for tests. The quantized one is MmqContract with one
// row (mmq_reference.h).
#pragma once

#include <cstdint>

#include "kernels/cpu/range.h"
#include "kernels/formats/tensor_type.h"

namespace fg {

// MatvecFloat's result: lane l = 0..15 starts at +0 and takes k = l, l + 16, ... by fma(w, x,
// lane); then lane l += lane l + 8 for l < 8, += l + 4 for l < 4, += l + 2, += l + 1; then the
// bias.
void MatvecFloatContract(TensorType type, const void* w, const float* x, int64_t k,
                         const float* bias, Range outs, float* y);

// The exact sum in double; magnitude[o] = sum of |w * x|. Both are indexed by output, as y is.
void MatvecFloatExact(TensorType type, const void* w, const float* x, int64_t k, const float* bias,
                      Range outs, double* value, double* magnitude);

}  // namespace fg
