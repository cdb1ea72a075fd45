// One row times a weight matrix: decode, batches of 2 to 15 rows (row by row), and the tail.
#pragma once

#include <cstdint>

#include "kernels/cpu/cpu_level.h"
#include "kernels/cpu/range.h"
#include "kernels/formats/blocks.h"
#include "kernels/formats/tensor_type.h"

namespace fg {

// y[o] for o in outs; w [out][k] of q4_0, q5_0, q8_0, q4_K or q6_K; a [k/32] one quantized row;
// bias [out] or null, added last. The same arithmetic as Mmq, to the bit.
void MatvecQuantized(CpuLevel level, TensorType type, const void* w, const ActivationChunk* a,
                     int64_t k, const float* bias, Range outs, float* y);

// y[o] for o in outs; w [out][k] of f32, f16 or bf16; x [k] unrounded f32; any k >= 1. 16 lanes,
// lane l takes k = l mod 16 ascending by fma, then the tree 8, 4, 2, 1; bias [out] or null added
// last.
void MatvecFloat(CpuLevel level, TensorType type, const void* w, const float* x, int64_t k,
                 const float* bias, Range outs, float* y);

}  // namespace fg
