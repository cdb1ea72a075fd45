#include "kernels/cpu/rope_reference.h"

#include <cmath>

namespace fg {
namespace {

double Angle(int64_t position, int64_t i, int64_t dims, double base) {
  return static_cast<double>(position) *
         std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(dims));
}

}  // namespace

RotatedPair RopeContract(float x0, float x1, int64_t position, int64_t i, int64_t dims,
                         double base) {
  const float c = static_cast<float>(std::cos(Angle(position, i, dims, base)));
  const float s = static_cast<float>(std::sin(Angle(position, i, dims, base)));
  const float p0 = x0 * c;
  const float p1 = x0 * s;
  return {std::fma(-x1, s, p0), std::fma(x1, c, p1)};
}

RotatedPair RopeExact(float x0, float x1, int64_t position, int64_t i, int64_t dims, double base) {
  const double c = std::cos(Angle(position, i, dims, base));
  const double s = std::sin(Angle(position, i, dims, base));
  return {x0 * c - x1 * s, x1 * c + x0 * s};
}

}  // namespace fg
