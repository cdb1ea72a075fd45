// What the tests of the activation kernels share: rows with everything that real and broken ones
// have, comparisons that name the first difference.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cpu/quant_test_data.h"
#include "kernels/formats/blocks.h"

namespace fg::testing {

// Odd ones, those around 16, those of a block and of the models.
inline const std::vector<int64_t> kRowCounts = {1, 2, 15, 16, 17, 255};

// [rows][k]: noise of three sizes; of 8 rows one each has 70000, a NaN of bits of its own, an
// infinity, subnormals alone, zeros alone, and 3e38. The rest are as they come.
inline std::vector<float> RowsWithAll(int64_t rows, int64_t k, uint32_t seed) {
  std::vector<float> x = Gaussian(rows * k, seed);
  for (int64_t r = 0; r < rows; ++r) {
    float* row = x.data() + r * k;
    const int64_t at = (r * 131 + 7) % k;
    switch (r % 8) {
      case 1:
        row[at] = 70000.0f;
        break;
      case 2:
        for (int64_t i = 0; i < k; ++i) row[i] *= 1e-4f;
        row[at] = std::bit_cast<float>(0xFFABCDEFu);
        break;
      case 3:
        row[at] = -std::numeric_limits<float>::infinity();
        break;
      case 4:
        for (int64_t i = 0; i < k; ++i) row[i] *= 1e-39f;
        break;
      case 5:
        for (int64_t i = 0; i < k; ++i) row[i] = i % 2 == 0 ? 0.0f : -0.0f;
        break;
      case 6:
        for (int64_t i = 0; i < k; ++i) row[i] *= 3000.0f;
        row[at] = -3e38f;
        break;
      default:
        break;
    }
  }
  return x;
}

// Nothing where all elements have equal bytes, else which differs first.
template <typename T>
std::string FirstUnequal(const std::vector<T>& expected, const std::vector<T>& actual) {
  if (expected.size() != actual.size() || expected.empty()) return "sizes";
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::memcmp(&expected[i], &actual[i], sizeof(T)) != 0) {
      return "element " + std::to_string(i) + " of " + std::to_string(expected.size());
    }
  }
  return "";
}

}  // namespace fg::testing
