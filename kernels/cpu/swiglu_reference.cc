#include "kernels/cpu/swiglu_reference.h"

#include <cmath>

#include "kernels/cpu/exp.h"

namespace fg {

float SwigluContract(float g, float u) {
  const float e = ExpF32(-g);
  const float denominator = 1.0f + e;
  const float gate = g / denominator;
  return gate * u;
}

double SwigluExact(float g, float u) {
  return static_cast<double>(g) / (1.0 + std::exp(-static_cast<double>(g))) * u;
}

double SwigluBound(float g, float u) {
  const double dropped = g < -80.0f ? std::abs(SwigluExact(g, u)) : 0.0;
  return 1.01 * 5 * 0x1p-24 * std::abs(SwigluExact(g, u)) + dropped;
}

}  // namespace fg
