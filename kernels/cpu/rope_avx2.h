// The AVX2 level of rope.h, which dispatches to it.
#pragma once

#include <cstdint>

namespace fg::avx2 {

// One head of 2*pairs values or more; cosine and sine [pairs] of its position.
void RotateHead(float* head, int64_t pairs, const float* cosine, const float* sine);

}  // namespace fg::avx2
