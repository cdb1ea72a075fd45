// The order in which 16 partial sums become one (docs/arithmetic.md, "Reductions").
#pragma once

namespace fg {

constexpr int kLanes = 16;  // lane l holds the terms k = l mod 16, in ascending k

// Adds lanes l and l+8, then l and l+4, l+2, l+1. Destroys `lanes`.
inline float LaneTree(float (&lanes)[kLanes]) {
  for (int width = kLanes / 2; width >= 1; width /= 2) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

}  // namespace fg
