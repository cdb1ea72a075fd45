// Int8 matrix product of raw quantized weights with the tiled, transposed activation plane: the
// nibble family's kernels with the rows in the lanes.
#pragma once

#include <cstdint>

#include "kernels/cpu/cpu_level.h"
#include "kernels/cpu/range.h"
#include "kernels/formats/planes.h"
#include "kernels/formats/tensor_type.h"
#include "kernels/kernel_fault.h"

namespace fg {

struct MmqTilesArgs {
  TensorType type;                              // q4_K or q6_K
  const void* w;                                // [out_total][k] blocks, rows of RowBytes(type, k)
  const ScalePair* scales = nullptr;            // q4_K: [k/32][out_total]; null: decoded here
  const ExpandedChunkQ6_K* expanded = nullptr;  // q6_K: [out_total][k/32]; null: expanded here
  const ActivationTile* a;                      // [TileCount(rows)][k/32]
  int64_t rows;
  int64_t k;          // a multiple of 256
  int64_t out_total;  // rows of the weight: the stride of `scales`
  const float* bias;  // [out_total] or null; added after the last chunk
  float* y;           // [rows][ldy]; writes y[r*ldy + o] for o in `outs`, r < rows
  int64_t ldy;
};

// The bits of Mmq(level, MmqForm::kNibble, ...). Any rows >= 1. Faults: kSwapNibbles, kDropMin,
// kChunkOffPlane (q4_K), kSwapHalfScales (without `expanded`) and kCoarseQ6K (q6_K).
void MmqTiles(CpuLevel level, const MmqTilesArgs& args, Range outs,
              KernelFault fault = KernelFault::kNone);

}  // namespace fg
