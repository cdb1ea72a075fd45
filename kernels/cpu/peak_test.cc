#include "kernels/cpu/peak.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace fg {
namespace {

// All products are in the sum: none was left out, hoisted or saturated.
TEST(Peak, EveryProductIsSummed) {
  for (const CpuLevel level : SupportedCpuLevels()) {
    EXPECT_GE(Int8PeakMacs(level), 64);
    for (const int64_t rounds : {0, 1, 2, 1000}) {
      for (const auto& [a, b] : std::vector<std::pair<uint8_t, int8_t>>{
               {0, 5}, {1, 1}, {3, -7}, {15, 127}, {15, -127}}) {
        const int64_t expected = rounds * Int8PeakMacs(level) * a * b;
        EXPECT_EQ(RunInt8Peak(level, rounds, a, b), static_cast<uint32_t>(expected))
            << CpuLevelName(level) << " " << rounds << " " << int{a} << " " << int{b};
      }
    }
  }
}

TEST(Peak, AReadSumsEveryWordAndNoOther) {
  std::mt19937_64 random(1);
  alignas(64) uint64_t data[64 * 5 + 64];
  for (uint64_t& word : data) word = random();
  for (const CpuLevel level : SupportedCpuLevels()) {
    uint64_t expected = 0;
    for (size_t words = 0; words <= 64 * 5; words += 64) {
      EXPECT_EQ(RunPlainRead(level, data, words), expected) << CpuLevelName(level) << words;
      for (size_t i = words; i < words + 64; ++i) expected += data[i];
    }
  }
}

}  // namespace
}  // namespace fg
