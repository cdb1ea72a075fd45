// rope.h twice over: its contract in the plainest C++, and exact double.
#pragma once

#include <cstdint>

namespace fg {

struct RotatedPair {
  double x0, x1;
};

// Pair i of dims/2 at `position`, with the table's entries and both results rounded to f32.
RotatedPair RopeContract(float x0, float x1, int64_t position, int64_t i, int64_t dims,
                         double base);

// The same without rounding. The contract lies within 3 * 2^-24 * (|x0| + |x1|): an entry of the
// table, a product and the fma, one unit of 2^-24 each, of terms no larger than x0 and x1.
RotatedPair RopeExact(float x0, float x1, int64_t position, int64_t i, int64_t dims, double base);

}  // namespace fg
