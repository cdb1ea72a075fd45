#include "kernels/cpu/cpu_level.h"

namespace fg {

const char* CpuLevelName(CpuLevel level) {
  switch (level) {
    case CpuLevel::kPlain:
      return "plain";
    case CpuLevel::kAvx2:
      return "avx2";
    case CpuLevel::kAvx512:
      return "avx512";
  }
  return "?";
}

std::optional<CpuLevel> ParseCpuLevel(std::string_view name) {
  for (const CpuLevel level : {CpuLevel::kPlain, CpuLevel::kAvx2, CpuLevel::kAvx512}) {
    if (name == CpuLevelName(level)) return level;
  }
  return std::nullopt;
}

std::vector<CpuLevel> SupportedCpuLevels() {
  std::vector<CpuLevel> levels = {CpuLevel::kPlain};
  // Also asks the operating system whether it saves the wide registers.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512vnni");
  if (avx2) levels.push_back(CpuLevel::kAvx2);
  if (avx2 && avx512) levels.push_back(CpuLevel::kAvx512);
  return levels;
}

}  // namespace fg
