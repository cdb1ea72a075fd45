#include "kernels/cpu/float_testing.h"

#include <fmt/format.h>

#include <cmath>

namespace fg {

std::string FirstDifference(std::span<const float> expected, std::span<const float> actual) {
  if (expected.empty() || expected.size() != actual.size()) {
    return fmt::format("{} values expected, {} compared", expected.size(), actual.size());
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!SameFloat(expected[i], actual[i])) {
      return fmt::format("[{}]: {:a} expected, got {:a}", i, expected[i], actual[i]);
    }
  }
  return "";
}

std::string FirstOutside(std::span<const double> expected, std::span<const double> bound,
                         std::span<const float> actual) {
  if (expected.empty() || expected.size() != actual.size() || bound.size() != actual.size()) {
    return fmt::format("{} values and {} bounds expected, {} compared", expected.size(),
                       bound.size(), actual.size());
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const double off = std::abs(static_cast<double>(actual[i]) - expected[i]);
    if (!(off <= bound[i]) || !std::isfinite(bound[i])) {
      return fmt::format("[{}]: {} expected within {}, got {}", i, expected[i], bound[i],
                         actual[i]);
    }
  }
  return "";
}

}  // namespace fg
