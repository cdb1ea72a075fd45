#include "kernels/cpu/swiglu.h"

#include "kernels/cpu/exp.h"
#include "kernels/cpu/swiglu_avx2.h"
#include "kernels/cpu/swiglu_avx512.h"

namespace fg {

void Swiglu(CpuLevel level, const float* g, const float* u, int64_t n, float* y) {
  if (level >= CpuLevel::kAvx512) return avx512::Swiglu(g, u, n, y);
  if (level >= CpuLevel::kAvx2) return avx2::Swiglu(g, u, n, y);
  for (int64_t i = 0; i < n; ++i) y[i] = (g[i] / (1.0f + ExpF32(-g[i]))) * u[i];
}

}  // namespace fg
