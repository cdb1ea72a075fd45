// The greedy choice, on host and device alike (kernels/cuda/elementwise.h "Argmax").
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

namespace fg {

// The id of the highest logit, the lowest among equals, NaN passed over; -1 when all are NaN.
inline int32_t HighestId(std::span<const float> logits) {
  int32_t best = -1;
  for (size_t id = 0; id < logits.size(); ++id) {
    if (std::isnan(logits[id])) continue;
    if (best < 0 || logits[id] > logits[static_cast<size_t>(best)]) best = static_cast<int32_t>(id);
  }
  return best;
}

}  // namespace fg
