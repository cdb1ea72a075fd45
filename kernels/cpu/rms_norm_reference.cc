#include "kernels/cpu/rms_norm_reference.h"

#include <cmath>

namespace fg {

void RmsNormContract(const float* x, const float* w, int64_t n, float eps, float* y) {
  float lane[16] = {};
  for (int64_t i = 0; i < n; ++i) lane[i % 16] = std::fma(x[i], x[i], lane[i % 16]);
  float eight[8], four[4];
  for (int l = 0; l < 8; ++l) eight[l] = lane[l] + lane[l + 8];
  for (int l = 0; l < 4; ++l) four[l] = eight[l] + eight[l + 4];
  const float ss = (four[0] + four[2]) + (four[1] + four[3]);
  const float s = 1.0f / std::sqrt(ss / static_cast<float>(n) + eps);
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] * s) * w[i];
}

RmsNormExactResult RmsNormExact(const float* x, const float* w, int64_t n, float eps) {
  double ss = 0.0;
  for (int64_t i = 0; i < n; ++i) ss += static_cast<double>(x[i]) * x[i];
  const double count = static_cast<double>(n);
  const double s = 1.0 / std::sqrt(ss / count + eps);
  RmsNormExactResult result;
  for (int64_t i = 0; i < n; ++i) {
    result.y.push_back(x[i] * s * w[i]);
    const double roundings = (count / 16 + 5) / 2 + 5;
    result.bound.push_back(1.01 * roundings * 0x1p-24 * std::abs(result.y.back()));
  }
  return result;
}

}  // namespace fg
