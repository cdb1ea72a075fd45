#include "kernels/cpu/peak.h"

#include "kernels/cpu/peak_levels.h"

namespace fg {

int64_t Int8PeakMacs(CpuLevel level) {
  if (level >= CpuLevel::kAvx512) return kInt8PeakMacsAvx512;
  return level >= CpuLevel::kAvx2 ? kInt8PeakMacsAvx2 : kInt8PeakMacsPlain;
}

uint32_t RunInt8Peak(CpuLevel level, int64_t rounds, uint8_t a, int8_t b) {
  if (level >= CpuLevel::kAvx512) return RunInt8PeakAvx512(rounds, a, b);
  return level >= CpuLevel::kAvx2 ? RunInt8PeakAvx2(rounds, a, b) : RunInt8PeakPlain(rounds, a, b);
}

uint64_t RunPlainRead(CpuLevel level, const uint64_t* data, size_t words) {
  if (level >= CpuLevel::kAvx512) return RunPlainReadAvx512(data, words);
  return level >= CpuLevel::kAvx2 ? RunPlainReadAvx2(data, words) : RunPlainReadPlain(data, words);
}

}  // namespace fg
