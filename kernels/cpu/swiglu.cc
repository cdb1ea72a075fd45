#include "kernels/cpu/swiglu.h"

#include "kernels/cpu/exp.h"

namespace fg {

void Swiglu(CpuLevel, const float* g, const float* u, int64_t n, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = (g[i] / (1.0f + ExpF32(-g[i]))) * u[i];
}

}  // namespace fg
