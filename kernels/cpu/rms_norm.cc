#include "kernels/cpu/rms_norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/rms_norm_avx2.h"
#include "kernels/cpu/rms_norm_avx512.h"

namespace fg {
namespace {

float Scale(const float* x, int64_t n, float eps) {
  float lanes[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) {
    float& lane = lanes[i % kLanes];
    lane = std::fma(x[i], x[i], lane);
  }
  const float mean = LaneTree(lanes) / static_cast<float>(n);
  return 1.0f / std::sqrt(mean + eps);
}

void Apply(const float* x, const float* w, int64_t n, float s, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] * s) * w[i];
}

}  // namespace

void RmsNormScales(CpuLevel level, const float* x, int64_t ldx, int64_t rows, int64_t n, float eps,
                   float* s) {
  if (level >= CpuLevel::kAvx512) return avx512::RmsNormScales(x, ldx, rows, n, eps, s);
  if (level >= CpuLevel::kAvx2) return avx2::RmsNormScales(x, ldx, rows, n, eps, s);
  for (int64_t r = 0; r < rows; ++r) s[r] = Scale(x + r * ldx, n, eps);
}

void RmsNormApply(CpuLevel level, const float* x, const float* w, int64_t n, float s, float* y) {
  if (level >= CpuLevel::kAvx512) return avx512::RmsNormApply(x, w, n, s, y);
  if (level >= CpuLevel::kAvx2) return avx2::RmsNormApply(x, w, n, s, y);
  Apply(x, w, n, s, y);
}

void RmsNorm(CpuLevel level, const float* x, int64_t ldx, const float* w, int64_t rows, int64_t n,
             float eps, float* y, int64_t ldy) {
  constexpr int64_t kBlock = 4;  // rows whose values are still in cache for the second pass
  float s[kBlock];
  for (int64_t first = 0; first < rows; first += kBlock) {
    const int64_t count = std::min(kBlock, rows - first);
    RmsNormScales(level, x + first * ldx, ldx, count, n, eps, s);
    for (int64_t r = 0; r < count; ++r) {
      RmsNormApply(level, x + (first + r) * ldx, w, n, s[r], y + (first + r) * ldy);
    }
  }
}

}  // namespace fg
