// The levels of the ceilings, one file each. Arguments as in peak.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fg {

inline constexpr int64_t kInt8PeakMacsPlain = 8 * 64;
inline constexpr int64_t kInt8PeakMacsAvx2 = 32 * 8 * 8;     // lanes, accumulators, steps
inline constexpr int64_t kInt8PeakMacsAvx512 = 64 * 16 * 4;  // lanes, accumulators, steps

uint32_t RunInt8PeakPlain(int64_t rounds, uint8_t a, int8_t b);
uint32_t RunInt8PeakAvx2(int64_t rounds, uint8_t a, int8_t b);
uint32_t RunInt8PeakAvx512(int64_t rounds, uint8_t a, int8_t b);

uint64_t RunPlainReadPlain(const uint64_t* data, size_t words);
uint64_t RunPlainReadAvx2(const uint64_t* data, size_t words);
uint64_t RunPlainReadAvx512(const uint64_t* data, size_t words);

}  // namespace fg
