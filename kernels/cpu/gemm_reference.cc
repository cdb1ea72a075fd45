#include "kernels/cpu/gemm_reference.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/elementwise_reference.h"

namespace fg {
void RoundRowsToF16Contract(const float* x, int64_t ldx, int64_t rows, int64_t k, uint16_t* a,
                            int32_t* exponents) {
  for (int64_t r = 0; r < rows; ++r) {
    double amax = 0.0;
    bool finite = true;
    for (int64_t i = 0; i < k; ++i) {
      finite = finite && std::isfinite(x[r * ldx + i]);
      amax = std::max(amax, std::abs(static_cast<double>(x[r * ldx + i])));
    }
    int32_t k2 = 0;
    while (finite && std::ldexp(amax, -k2) >= 32768.0) ++k2;
    exponents[r] = k2;
    for (int64_t i = 0; i < k; ++i) a[r * k + i] = NearestF16(std::ldexp(x[r * ldx + i], -k2));
  }
}

void GemmContract(const float* w, const float* x, int64_t ldx, const int32_t* exponents,
                  int64_t rows, int64_t k, int64_t out, const float* bias, float* y) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t o = 0; o < out; ++o) {
      float acc = 0.0f;
      for (int64_t i = 0; i < k; ++i) acc = std::fma(w[o * k + i], x[r * ldx + i], acc);
      if (exponents != nullptr) acc = std::ldexp(acc, exponents[r]);
      if (bias != nullptr) acc += bias[o];
      y[r * out + o] = acc;
    }
  }
}

GemmExactResult GemmExact(const float* w, const float* x, int64_t ldx, const int32_t* exponents,
                          int64_t rows, int64_t k, int64_t out, const float* bias) {
  GemmExactResult result;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t o = 0; o < out; ++o) {
      double sum = 0.0;
      double magnitude = 0.0;
      for (int64_t i = 0; i < k; ++i) {
        const double term = static_cast<double>(w[o * k + i]) * x[r * ldx + i];
        sum += term;
        magnitude += std::abs(term);
      }
      const int exponent = exponents != nullptr ? exponents[r] : 0;
      const double b = bias != nullptr ? bias[o] : 0.0;
      result.y.push_back(std::ldexp(sum, exponent) + b);
      const double terms = static_cast<double>(k + 2);
      result.bound.push_back(1.01 * terms * 0x1p-24 *
                             (std::ldexp(magnitude, exponent) + std::abs(b)));
    }
  }
  return result;
}

}  // namespace fg
