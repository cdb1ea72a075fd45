// That there are figures, and of what; never how fast.
#include "engine/probe/bench_ceiling.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fg {
namespace {

TEST(BenchCeiling, GivesFiguresThatOnlyGrow) {
  for (const CpuLevel level : SupportedCpuLevels()) {
    for (const int threads : {1, 2}) {
      auto ceiling = BenchCeiling::Make(level, threads, 100000);
      ASSERT_TRUE(ceiling.ok()) << ceiling.status().message();
      EXPECT_EQ((*ceiling)->read_bytes_per_second(), 0);
      EXPECT_EQ((*ceiling)->int8_macs_per_second(), 0);
      (*ceiling)->Measure();
      const double read = (*ceiling)->read_bytes_per_second();
      const double int8 = (*ceiling)->int8_macs_per_second();
      EXPECT_TRUE(std::isfinite(read) && read > 0) << read;
      EXPECT_TRUE(std::isfinite(int8) && int8 > 0) << int8;
      (*ceiling)->Measure();
      EXPECT_GE((*ceiling)->read_bytes_per_second(), read);
      EXPECT_GE((*ceiling)->int8_macs_per_second(), int8);
    }
  }
}

TEST(BenchCeiling, TheBufferIsAsLargeAsWhatIsReadWithinBounds) {
  const auto bytes = [](uint64_t asked) {
    const auto ceiling = BenchCeiling::Make(CpuLevel::kPlain, 1, asked);
    return ceiling.ok() ? (*ceiling)->read_bytes() : 0;
  };
  EXPECT_EQ(bytes(0), 4096u);
  EXPECT_EQ(bytes(100000), 99840u);  // a multiple of 512
}

}  // namespace
}  // namespace fg
