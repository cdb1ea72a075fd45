// The AVX-512 level of exp.h, which dispatches to it.
#pragma once

#include <cstdint>

namespace fg::avx512 {

void ExpRow(const float* x, int64_t n, float shift, float* y);

}  // namespace fg::avx512
