#include "kernels/cpu/elementwise.h"

#include "kernels/formats/half.h"

namespace fg {

void Add(CpuLevel, const float* a, const float* b, int64_t n, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}

void StoreF16(CpuLevel, const float* x, int64_t n, uint16_t* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = F32ToF16(x[i]);
}

}  // namespace fg
