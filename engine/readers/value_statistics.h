// Figures of a node's values.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace fg {

struct ValueStatistics {
  int64_t count = 0;
  int64_t nan = 0, infinite = 0;
  // Over the finite values; NaN where there is none.
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
  double mean = std::numeric_limits<double>::quiet_NaN();
};

ValueStatistics StatisticsOf(std::span<const float> values);

}  // namespace fg
