#include "kernels/cpu/exp.h"

#include "kernels/cpu/exp_avx2.h"
#include "kernels/cpu/exp_avx512.h"

namespace fg {

void ExpRow(CpuLevel level, const float* x, int64_t n, float shift, float* y) {
  if (level >= CpuLevel::kAvx512) return avx512::ExpRow(x, n, shift, y);
  if (level >= CpuLevel::kAvx2) return avx2::ExpRow(x, n, shift, y);
  for (int64_t i = 0; i < n; ++i) y[i] = ExpF32(x[i] - shift);
}

}  // namespace fg
