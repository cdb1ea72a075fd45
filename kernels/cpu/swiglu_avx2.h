// The AVX2 level of swiglu.h, which dispatches to it.
#pragma once

#include <cstdint>

namespace fg::avx2 {

void Swiglu(const float* g, const float* u, int64_t n, float* y);

}  // namespace fg::avx2
