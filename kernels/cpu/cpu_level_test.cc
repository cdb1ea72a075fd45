#include "kernels/cpu/cpu_level.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace fg {
namespace {

TEST(CpuLevel, NamesParseBack) {
  EXPECT_STREQ(CpuLevelName(CpuLevel::kPlain), "plain");
  EXPECT_STREQ(CpuLevelName(CpuLevel::kAvx2), "avx2");
  EXPECT_EQ(ParseCpuLevel("plain"), CpuLevel::kPlain);
  EXPECT_EQ(ParseCpuLevel("avx2"), CpuLevel::kAvx2);
}

TEST(CpuLevel, OtherNamesAreNoLevel) {
  for (const char* name : {"", "AVX2", "avx2 ", "avx", "avx512", "0"}) {
    EXPECT_FALSE(ParseCpuLevel(name).has_value()) << name;
  }
}

TEST(CpuLevel, PlainComesFirstAndTheBestLast) {
  const auto levels = SupportedCpuLevels();
  ASSERT_FALSE(levels.empty());
  EXPECT_EQ(levels.front(), CpuLevel::kPlain);
  EXPECT_EQ(levels.back(), BestCpuLevel());
  for (size_t i = 1; i < levels.size(); ++i) EXPECT_LT(levels[i - 1], levels[i]);
}

// The kernel's list of flags is an independent witness.
TEST(CpuLevel, AgreesWithTheOperatingSystem) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && line.rfind("flags", 0) != 0) {
  }
  if (line.rfind("flags", 0) != 0) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  bool avx2 = false, fma = false, f16c = false;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    avx2 |= word == "avx2";
    fma |= word == "fma";
    f16c |= word == "f16c";
  }
  EXPECT_EQ(BestCpuLevel() == CpuLevel::kAvx2, avx2 && fma && f16c);
}

}  // namespace
}  // namespace fg
