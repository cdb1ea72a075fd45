// The AVX2 level of elementwise.h, which dispatches to it.
#pragma once

#include <cstdint>

namespace fg::avx2 {

void Add(const float* a, const float* b, int64_t n, float* y);
void StoreF16(const float* x, int64_t n, uint16_t* y);

}  // namespace fg::avx2
