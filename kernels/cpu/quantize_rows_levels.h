// The levels of QuantizeRows, one file each.
#pragma once

#include <cstdint>

#include "kernels/formats/blocks.h"
#include "kernels/kernel_fault.h"

namespace fg {

void QuantizeRowsPlain(const float* x, int64_t ldx, int64_t rows, int64_t k, ActivationChunk* plane,
                       KernelFault fault);
void QuantizeRowsAvx2(const float* x, int64_t ldx, int64_t rows, int64_t k, ActivationChunk* plane,
                      KernelFault fault);
void QuantizeRowsAvx512(const float* x, int64_t ldx, int64_t rows, int64_t k,
                        ActivationChunk* plane, KernelFault fault);

}  // namespace fg
