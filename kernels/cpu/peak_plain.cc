// What the compiler makes of plain C++ for the baseline of the architecture.
#include "kernels/cpu/peak_levels.h"

namespace fg {

uint32_t RunInt8PeakPlain(int64_t rounds, uint8_t a, int8_t b) {
  int32_t sums[8] = {};
  int32_t left[8], right[8];
  for (int lane = 0; lane < 8; ++lane) {
    left[lane] = a;
    right[lane] = b;
  }
  for (int64_t round = 0; round < rounds; ++round) {
    for (int step = 0; step < 64; ++step) {
      // Keeps the products in the loop: the compiler is told that the factors may have changed.
      asm volatile("" : "+m"(left), "+m"(right));
      for (int lane = 0; lane < 8; ++lane) sums[lane] += left[lane] * right[lane];
    }
  }
  uint32_t sum = 0;
  for (const int32_t part : sums) sum += static_cast<uint32_t>(part);
  return sum;
}

uint64_t RunPlainReadPlain(const uint64_t* data, size_t words) {
  uint64_t sums[8] = {};
  for (size_t i = 0; i < words; i += 8) {
    for (int lane = 0; lane < 8; ++lane) sums[lane] += data[i + lane];
  }
  uint64_t sum = 0;
  for (const uint64_t part : sums) sum += part;
  return sum;
}

}  // namespace fg
