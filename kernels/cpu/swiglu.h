#pragma once

#include <cstdint>

#include "kernels/cpu/cpu_level.h"

namespace fg {

// y[i] = (g[i] / (1 + exp(-g[i]))) * u[i] for i in [0, n), exp of kernels/cpu/exp.h. y may be g or
// u.
void Swiglu(CpuLevel level, const float* g, const float* u, int64_t n, float* y);

}  // namespace fg
