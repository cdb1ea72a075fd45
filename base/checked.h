// Arithmetic on numbers that a file or a user supplied: no product or sum wraps unseen.
#pragma once

#include <cstdint>
#include <optional>

namespace fg {

inline std::optional<uint64_t> CheckedAdd(uint64_t a, uint64_t b) {
  uint64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<uint64_t> CheckedMul(uint64_t a, uint64_t b) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// The smallest multiple of `alignment` (> 0) that is >= value.
inline std::optional<uint64_t> CheckedAlignUp(uint64_t value, uint64_t alignment) {
  const uint64_t rest = value % alignment;
  return rest == 0 ? std::optional<uint64_t>(value) : CheckedAdd(value, alignment - rest);
}

}  // namespace fg
