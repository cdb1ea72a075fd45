#include "kernels/cpu/rms_norm.h"

#include <cmath>

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/rms_norm_avx2.h"

namespace fg {
namespace {

void NormRow(const float* x, const float* w, int64_t n, float eps, float* y) {
  float lanes[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) {
    float& lane = lanes[i % kLanes];
    lane = std::fma(x[i], x[i], lane);
  }
  const float mean = LaneTree(lanes) / static_cast<float>(n);
  const float s = 1.0f / std::sqrt(mean + eps);
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] * s) * w[i];
}

}  // namespace

void RmsNorm(CpuLevel level, const float* x, int64_t ldx, const float* w, int64_t rows, int64_t n,
             float eps, float* y, int64_t ldy) {
  if (level >= CpuLevel::kAvx2) return avx2::RmsNorm(x, ldx, w, rows, n, eps, y, ldy);
  for (int64_t r = 0; r < rows; ++r) NormRow(x + r * ldx, w, n, eps, y + r * ldy);
}

}  // namespace fg
