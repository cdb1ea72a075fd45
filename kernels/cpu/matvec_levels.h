// The levels of the one-row products, one file each. Arguments as in matvec.h.
#pragma once

#include <cstdint>

#include "kernels/cpu/range.h"
#include "kernels/formats/blocks.h"
#include "kernels/formats/tensor_type.h"

namespace fg {

void MatvecQuantizedPlain(TensorType type, const void* w, const ActivationChunk* a, int64_t k,
                          const float* bias, Range outs, float* y);
void MatvecQuantizedAvx2(TensorType type, const void* w, const ActivationChunk* a, int64_t k,
                         const float* bias, Range outs, float* y);
void MatvecQuantizedAvx512(TensorType type, const void* w, const ActivationChunk* a, int64_t k,
                           const float* bias, Range outs, float* y);
void MatvecFloatPlain(TensorType type, const void* w, const float* x, int64_t k, const float* bias,
                      Range outs, float* y);
void MatvecFloatAvx2(TensorType type, const void* w, const float* x, int64_t k, const float* bias,
                     Range outs, float* y);
void MatvecFloatAvx512(TensorType type, const void* w, const float* x, int64_t k, const float* bias,
                       Range outs, float* y);

}  // namespace fg
