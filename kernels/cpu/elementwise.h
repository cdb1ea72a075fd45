#pragma once

#include <cstdint>

#include "kernels/cpu/cpu_level.h"

namespace fg {

// y[i] = a[i] + b[i], i in [0, n). y may be a or b.
void Add(CpuLevel level, const float* a, const float* b, int64_t n, float* y);

// y[i] = f16(x[i]), nearest even, subnormals kept (the KV store).
void StoreF16(CpuLevel level, const float* x, int64_t n, uint16_t* y);

}  // namespace fg
