// The levels of QuantizeTiles, one file each.
#pragma once

#include <cstdint>

#include "kernels/cpu/range.h"
#include "kernels/formats/planes.h"
#include "kernels/kernel_fault.h"

namespace fg {

void QuantizeTilesPlain(const float* x, int64_t ldx, int64_t rows, int64_t k, Range tiles,
                        ActivationTile* plane, KernelFault fault);
void QuantizeTilesAvx2(const float* x, int64_t ldx, int64_t rows, int64_t k, Range tiles,
                       ActivationTile* plane, KernelFault fault);
void QuantizeTilesAvx512(const float* x, int64_t ldx, int64_t rows, int64_t k, Range tiles,
                         ActivationTile* plane, KernelFault fault);

}  // namespace fg
