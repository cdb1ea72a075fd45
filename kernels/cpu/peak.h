// Ceilings that a figure of speed is held against: multiply-adds of int8 in registers alone, and a
// plain read of memory. Measuring is the caller's; these only do the work. docs/bench.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/cpu_level.h"

namespace fg {

// Multiply-adds of one round of the level's loop.
int64_t Int8PeakMacs(CpuLevel level);

// `rounds` rounds of independent products a * b with a in 0..15 (a weight's nibble) and b in
// -127..127 (an activation), summed in registers and exactly; no load and no store. The sum of all
// products, modulo 2^32: rounds * Int8PeakMacs(level) * a * b.
uint32_t RunInt8Peak(CpuLevel level, int64_t rounds, uint8_t a, int8_t b);

// The sum, modulo 2^64, of the `words` words at `data` (aligned to 64 bytes; a multiple of 64
// words): reads each byte once, in order.
uint64_t RunPlainRead(CpuLevel level, const uint64_t* data, size_t words);

}  // namespace fg
