#include "kernels/cpu/rms_norm.h"

#include <cmath>

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/rms_norm_avx2.h"

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

float RmsNormScale(CpuLevel level, const float* x, int64_t n, float eps) {
  if (level >= CpuLevel::kAvx2) return avx2::RmsNormScale(x, n, eps);
  return Scale(x, n, eps);
}

void RmsNormApply(CpuLevel level, const float* x, const float* w, int64_t n, float s, float* y) {
  if (level >= CpuLevel::kAvx2) return avx2::RmsNormApply(x, w, n, s, y);
  Apply(x, w, n, s, y);
}

void RmsNorm(CpuLevel level, const float* x, int64_t ldx, const float* w, int64_t rows, int64_t n,
             float eps, float* y, int64_t ldy) {
  for (int64_t r = 0; r < rows; ++r) {
    const float s = RmsNormScale(level, x + r * ldx, n, eps);
    RmsNormApply(level, x + r * ldx, w, n, s, y + r * ldy);
  }
}

}  // namespace fg
