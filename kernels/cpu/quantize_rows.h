// Activations to int8 chunks, row-major: the plane that MMQ and the one-row kernels read.
#pragma once

#include <cstdint>

#include "kernels/cpu/cpu_level.h"
#include "kernels/formats/blocks.h"
#include "kernels/kernel_fault.h"

namespace fg {

// plane[rows][k/32] from x[rows][ldx] (the first k of each row; k a multiple of 32).
// Per chunk: amax = max|v|; amax < 2^-100: d = 0, q = 0; else d = amax/127, r = 127/amax,
// q = rint_even(v*r). A NaN or infinity in the chunk: d = NaN (0x7FC00000), q and sums 0.
// Faults: kCoarseQuant.
void QuantizeRows(CpuLevel level, const float* x, int64_t ldx, int64_t rows, int64_t k,
                  ActivationChunk* plane, KernelFault fault = KernelFault::kNone);

}  // namespace fg
