#include "kernels/cpu/elementwise.h"

#include "kernels/cpu/elementwise_avx2.h"
#include "kernels/formats/half.h"

namespace fg {

void Add(CpuLevel level, const float* a, const float* b, int64_t n, float* y) {
  if (level >= CpuLevel::kAvx2) return avx2::Add(a, b, n, y);
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}

void StoreF16(CpuLevel level, const float* x, int64_t n, uint16_t* y) {
  if (level >= CpuLevel::kAvx2) return avx2::StoreF16(x, n, y);
  for (int64_t i = 0; i < n; ++i) y[i] = F32ToF16(x[i]);
}

}  // namespace fg
