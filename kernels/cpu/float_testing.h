// What the tests of the float kernels share: seeded values, guarded buffers, a bitwise comparison.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/formats/half.h"

namespace fg {

// Values from a fixed seed, the same on every machine.
class SeededValues {
 public:
  explicit SeededValues(uint32_t seed) : engine_(seed) {}

  uint32_t Bits() { return engine_(); }
  // Uniform over [-limit, limit), a multiple of limit * 2^-23.
  float Uniform(float limit) {
    return (static_cast<float>(engine_() >> 8) * 0x1p-23f - 1.0f) * limit;
  }
  std::vector<float> Floats(int64_t n, float limit = 1.0f) {
    std::vector<float> values(static_cast<size_t>(n));
    for (float& value : values) value = Uniform(limit);
    return values;
  }
  std::vector<uint16_t> Halves(int64_t n, float limit = 1.0f) {
    std::vector<uint16_t> values(static_cast<size_t>(n));
    for (uint16_t& value : values) value = F32ToF16(Uniform(limit));
    return values;
  }

 private:
  std::mt19937 engine_;
};

// A buffer filled with a byte pattern, with guards of the same pattern before and behind it.
template <typename T>
class GuardedBuffer {
 public:
  explicit GuardedBuffer(int64_t n)
      : n_(static_cast<size_t>(n)), all_((n_ + 2 * kGuard) * sizeof(T), kPattern) {}

  T* data() { return reinterpret_cast<T*>(all_.data()) + kGuard; }
  std::span<const T> values() { return {data(), n_}; }
  T operator[](int64_t i) { return data()[i]; }
  bool Untouched(int64_t i) { return IsPattern(kGuard + static_cast<size_t>(i)); }
  bool GuardsIntact() {
    for (size_t i = 0; i < kGuard; ++i) {
      if (!IsPattern(i) || !IsPattern(kGuard + n_ + i)) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kGuard = 64;
  static constexpr unsigned char kPattern = 0xA5;
  bool IsPattern(size_t element) {
    for (size_t b = 0; b < sizeof(T); ++b) {
      if (all_[element * sizeof(T) + b] != kPattern) return false;
    }
    return true;
  }

  size_t n_;
  std::vector<unsigned char> all_;
};

// Equal bits, or both NaN: levels promise that a NaN comes out, not which one.
inline bool SameFloat(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (a != a && b != b);
}

// Nothing where all are the same, else what differs first. Empty or unequal lengths differ.
std::string FirstDifference(std::span<const float> expected, std::span<const float> actual);

// Nothing where |actual[i] - expected[i]| <= bound[i] for all i, else what is outside first. NaN,
// an infinity, empty or unequal lengths are outside.
std::string FirstOutside(std::span<const double> expected, std::span<const double> bound,
                         std::span<const float> actual);

}  // namespace fg
