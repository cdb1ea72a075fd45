// The AVX-512 level of attention.h, which dispatches to it.
#pragma once

#include <cstdint>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/range.h"

namespace fg::avx512 {

void Attention(const AttentionArgs& args, Range items, float* scratch);

}  // namespace fg::avx512
