// f16 and bf16 to f32 and back. Rounding is to nearest even, subnormals are kept, NaN stays NaN.
#pragma once

#include <bit>
#include <cstdint>

namespace fg {

constexpr float F16ToF32(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
  const uint32_t exponent = (h >> 10) & 31;
  const uint32_t mantissa = h & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | (mantissa << 13));
  if (exponent == 0) {
    // A subnormal is mantissa * 2^-24, exact in f32.
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

constexpr uint16_t F32ToF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  // A NaN keeps its top mantissa bits and is made quiet, as VCVTPS2PH does.
  if (magnitude > 0x7F800000) {
    return static_cast<uint16_t>(sign | 0x7C00 | 0x200 | ((magnitude >> 13) & 0x3FF));
  }
  if (magnitude >= 0x477FF000)
    return static_cast<uint16_t>(sign | 0x7C00);  // rounds to 2^16 or more
  if (magnitude < 0x38800000) {
    // Below 2^-14: a multiple of 2^-24. Shift the full mantissa into place, round to even.
    if (magnitude < 0x33000000) return sign;  // below half of 2^-24
    const uint32_t exponent = magnitude >> 23;
    const uint32_t mantissa = (magnitude & 0x7FFFFF) | 0x800000;
    const uint32_t shift = 126 - exponent;
    const uint32_t kept = mantissa >> shift;
    const uint32_t rest = mantissa & ((1u << shift) - 1);
    const uint32_t half = 1u << (shift - 1);
    const bool up = rest > half || (rest == half && (kept & 1) != 0);
    return static_cast<uint16_t>(sign | (kept + (up ? 1 : 0)));
  }
  const uint32_t rebased = magnitude - (112u << 23);
  const uint32_t kept = rebased >> 13;
  const uint32_t rest = rebased & 0x1FFF;
  const bool up = rest > 0x1000 || (rest == 0x1000 && (kept & 1) != 0);
  return static_cast<uint16_t>(sign | (kept + (up ? 1 : 0)));
}

constexpr float BF16ToF32(uint16_t b) {
  return std::bit_cast<float>(static_cast<uint32_t>(b) << 16);
}

constexpr uint16_t F32ToBF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

}  // namespace fg
