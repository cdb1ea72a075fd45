// Int8 matrix product of raw quantized weights with quantized activation rows (prefill).
#pragma once

#include <cstdint>

#include "kernels/cpu/cpu_level.h"
#include "kernels/cpu/range.h"
#include "kernels/formats/blocks.h"
#include "kernels/formats/planes.h"
#include "kernels/formats/tensor_type.h"
#include "kernels/kernel_fault.h"

namespace fg {

// How a weight tile reaches the multiply. All forms give the same bits.
enum class MmqForm {
  kGeneric,  // block by block, serves q4_0, q5_0, q8_0, q4_K, q6_K
  kRaw,      // q4_K: whole super-blocks staged raw, expanded to an int8 tile first
  kNibble,   // q4_K, q6_K: values unpacked in registers right before the multiply
};

bool MmqSupports(MmqForm form, TensorType type);

struct MmqArgs {
  TensorType type;
  const void* w;             // [out][k] blocks, rows of RowBytes(type, k)
  const ActivationChunk* a;  // [rows][k/32]
  int64_t rows;
  int64_t k;          // a multiple of the type's block_values, hence of 32
  const float* bias;  // [out] or null; added after the last chunk
  float* y;           // [rows][ldy]; writes y[r*ldy + o] for o in `outs`
  int64_t ldy;
  const ExpandedChunkQ6_K* expanded = nullptr;  // kNibble of q6_K: [out][k/32]; null: from w
};

// acc = +0; chunks ascending: acc = fma(f32(isum), ws*da, acc), then for types with a min
// acc = fma(wm, da*f32(msum), acc). docs/arithmetic.md "Output".
// Any rows >= 1. Faults: kWrongTail (kRaw); kNibble: kSwapNibbles, kDropMin (q4_K),
// kSwapHalfScales (q6_K without `expanded`), kCoarseQ6K.
void Mmq(CpuLevel level, MmqForm form, const MmqArgs& args, Range outs,
         KernelFault fault = KernelFault::kNone);

}  // namespace fg
