// The prepass: activations to int8 chunks, straight into the tiled, transposed plane.
#pragma once

#include <cstdint>

#include "kernels/cpu/cpu_level.h"
#include "kernels/cpu/range.h"
#include "kernels/formats/planes.h"
#include "kernels/kernel_fault.h"

namespace fg {

// Fills tiles [tiles.begin, tiles.end) of 16 rows of plane[TileCount(rows)][k/32] from x[rows][ldx]
// (the first k of each row; k a multiple of 32). Values are QuantizeRows', to the bit; rows past
// the last one are written as zeros. Faults: kCoarseQuant, kDirtyTail.
void QuantizeTiles(CpuLevel level, const float* x, int64_t ldx, int64_t rows, int64_t k,
                   Range tiles, ActivationTile* plane, KernelFault fault = KernelFault::kNone);

}  // namespace fg
