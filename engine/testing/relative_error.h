// How far logits are from a reference's.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace fg::testing {

// Largest error over the root mean square of `want`, rows of floats or doubles; NaN where a value
// of `got` is not finite, where the lengths differ and where there is nothing.
template <typename Row>
double RelativeError(const std::vector<float>& got, const std::vector<Row>& want) {
  double squares = 0, error = 0;
  size_t at = 0;
  for (const auto& row : want) {
    for (const double value : row) {
      if (at >= got.size() || !std::isfinite(got[at])) return std::nan("");
      squares += value * value;
      error = std::max(error, std::fabs(got[at++] - value));
    }
  }
  if (at != got.size() || at == 0) return std::nan("");
  return error / std::sqrt(squares / static_cast<double>(at));
}
inline double RelativeError(const std::vector<float>& got, const std::vector<float>& want) {
  return RelativeError(got, std::vector<std::vector<float>>{want});
}

}  // namespace fg::testing
