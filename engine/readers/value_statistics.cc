#include "engine/readers/value_statistics.h"

#include <algorithm>
#include <cmath>

namespace fg {

ValueStatistics StatisticsOf(std::span<const float> values) {
  ValueStatistics of;
  of.count = static_cast<int64_t>(values.size());
  float min = std::numeric_limits<float>::infinity(), max = -min;
  double sum = 0;
  for (const float value : values) {
    if (std::isnan(value)) {
      ++of.nan;
    } else if (std::isinf(value)) {
      ++of.infinite;
    } else {
      min = std::min(min, value);
      max = std::max(max, value);
      sum += value;
    }
  }
  const int64_t finite = of.count - of.nan - of.infinite;
  if (finite == 0) return of;
  of.min = min;
  of.max = max;
  of.mean = sum / static_cast<double>(finite);
  return of;
}

}  // namespace fg
