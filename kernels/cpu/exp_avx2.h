// The AVX2 level of exp.h, which dispatches to it.
#pragma once

#include <cstdint>

namespace fg::avx2 {

void ExpRow(const float* x, int64_t n, float shift, float* y);

}  // namespace fg::avx2
