// Instruction-set levels of the CPU kernels. All levels give the same bits (docs/arithmetic.md).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace fg {

// Ascending: an operation without a kernel of its own for a level runs that of the level below.
enum class CpuLevel {
  kPlain,
  kAvx2,    // needs AVX2, FMA and F16C
  kAvx512,  // needs those and AVX-512 F, BW, DQ, VL and VNNI
};

const char* CpuLevelName(CpuLevel level);                      // "plain", "avx2", "avx512"
std::optional<CpuLevel> ParseCpuLevel(std::string_view name);  // nothing for an unknown name
std::vector<CpuLevel> SupportedCpuLevels();                    // of this processor, ascending
inline CpuLevel BestCpuLevel() { return SupportedCpuLevels().back(); }

}  // namespace fg
