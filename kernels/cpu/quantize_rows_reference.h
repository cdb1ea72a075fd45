// The quantizer's definition in the plainest C++, for tests. docs/arithmetic.md.
#pragma once

#include <cstdint>

#include "kernels/formats/blocks.h"

namespace fg {

// plane[rows][k/32] from x[rows][ldx], k a multiple of 32.
void QuantizeRowsContract(const float* x, int64_t ldx, int64_t rows, int64_t k,
                          ActivationChunk* plane);

}  // namespace fg
