#include "kernels/cpu/elementwise_reference.h"

#include <cmath>

namespace fg {

float AddExact(float a, float b) {
  return static_cast<float>(static_cast<double>(a) + static_cast<double>(b));
}

uint16_t NearestF16(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7E00;
  const double magnitude = std::abs(value);
  if (magnitude >= 65520.0) return static_cast<uint16_t>(sign | 0x7C00);
  const int exponent = magnitude < 0x1p-14 ? -14 : std::ilogb(magnitude);
  // Counted in units of the last place; an overflow of the mantissa moves on to the next exponent.
  const double units = std::nearbyint(std::ldexp(magnitude, 10 - exponent));
  const int bits = static_cast<int>(units) + ((exponent + 14) << 10);
  return static_cast<uint16_t>(sign | bits);
}

}  // namespace fg
