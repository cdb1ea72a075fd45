#include "kernels/cpu/cpu_level.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace fg {
namespace {

TEST(CpuLevel, NamesParseBack) {
  EXPECT_STREQ(CpuLevelName(CpuLevel::kPlain), "plain");
  EXPECT_STREQ(CpuLevelName(CpuLevel::kAvx2), "avx2");
  EXPECT_EQ(ParseCpuLevel("plain"), CpuLevel::kPlain);
  EXPECT_EQ(ParseCpuLevel("avx2"), CpuLevel::kAvx2);
  EXPECT_STREQ(CpuLevelName(CpuLevel::kAvx512), "avx512");
  EXPECT_EQ(ParseCpuLevel("avx512"), CpuLevel::kAvx512);
}

TEST(CpuLevel, OtherNamesAreNoLevel) {
  for (const char* name : {"", "AVX2", "avx2 ", "avx", "avx512f", "0"}) {
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
  std::set<std::string> flags;
  std::istringstream words(line);
  for (std::string word; words >> word;) flags.insert(word);
  const auto all = [&](const std::vector<std::string>& wanted) {
    return std::all_of(wanted.begin(), wanted.end(),
                       [&](const std::string& flag) { return flags.contains(flag); });
  };
  const bool avx2 = all({"avx2", "fma", "f16c"});
  const bool avx512 = avx2 && all({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni"});
  EXPECT_EQ(BestCpuLevel(), avx512 ? CpuLevel::kAvx512 : avx2 ? CpuLevel::kAvx2 : CpuLevel::kPlain);
}

}  // namespace
}  // namespace fg
