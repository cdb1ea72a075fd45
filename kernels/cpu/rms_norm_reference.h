// rms_norm.h twice over: its contract in the plainest C++, and exact double.
#pragma once

#include <cstdint>
#include <vector>

namespace fg {

void RmsNormContract(const float* x, const float* w, int64_t n, float eps, float* y);  // one row

// One row, with the bound of its error. ss gathers n/16 + 5 roundings of terms of one sign, halved
// by the root; then n, eps, root, quotient and two products.
struct RmsNormExactResult {
  std::vector<double> y;
  std::vector<double> bound;  // ((n/16 + 5)/2 + 5) * 2^-24 * |y|, and 1 % for higher orders
};
RmsNormExactResult RmsNormExact(const float* x, const float* w, int64_t n, float eps);

}  // namespace fg
