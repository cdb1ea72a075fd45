// A half-open range of outputs (or rows, or heads). Threads share out ranges and never a sum, so
// a result does not depend on how many threads there were.
#pragma once

#include <cstdint>

namespace fg {

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};

// Part `part` of `parts` of [0, total), in multiples of `grain` (the last part takes the rest).
inline Range Share(int64_t total, int part, int parts, int64_t grain = 1) {
  const int64_t units = (total + grain - 1) / grain;
  const int64_t begin = units * part / parts * grain;
  const int64_t end = units * (part + 1) / parts * grain;
  return {begin < total ? begin : total, end < total ? end : total};
}

}  // namespace fg
