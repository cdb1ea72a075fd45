// The AVX-512 level of swiglu.h, which dispatches to it.
#pragma once

#include <cstdint>

namespace fg::avx512 {

void Swiglu(const float* g, const float* u, int64_t n, float* y);

}  // namespace fg::avx512
