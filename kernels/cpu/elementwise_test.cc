#include "kernels/cpu/elementwise.h"

#include <gtest/gtest.h>

#include "kernels/cpu/elementwise_reference.h"
#include "kernels/cpu/float_testing.h"

namespace fg {
namespace {

TEST(Elementwise, AddOfEveryLengthOnEveryLevel) {
  for (const CpuLevel level : SupportedCpuLevels()) {
    for (int64_t n = 1; n <= 70; ++n) {
      SeededValues values(static_cast<uint32_t>(n));
      const std::vector<float> a = values.Floats(n, 100.0f);
      const std::vector<float> b = values.Floats(n);
      std::vector<float> expected;
      for (size_t i = 0; i < a.size(); ++i) expected.push_back(AddExact(a[i], b[i]));
      GuardedBuffer<float> y(n);
      Add(level, a.data(), b.data(), n, y.data());
      EXPECT_EQ(FirstDifference(expected, y.values()), "") << CpuLevelName(level) << " n " << n;
      EXPECT_TRUE(y.GuardsIntact());
    }
  }
}

TEST(Elementwise, AddInPlaceOfEither) {
  const std::vector<float> a = SeededValues(1).Floats(37);
  const std::vector<float> b = SeededValues(2).Floats(37);
  for (const CpuLevel level : SupportedCpuLevels()) {
    std::vector<float> apart(37), first = a, second = b;
    Add(level, a.data(), b.data(), 37, apart.data());
    Add(level, first.data(), b.data(), 37, first.data());
    Add(level, a.data(), second.data(), 37, second.data());
    EXPECT_EQ(FirstDifference(apart, first), "");
    EXPECT_EQ(FirstDifference(apart, second), "");
  }
}

// Every 1009th bit pattern, then all f16 values, their middles and the neighbours of those.
TEST(Elementwise, StoreF16RoundsToTheNearest) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits <= 0xFFFFFFFFu; bits += 1009) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (uint32_t half = 0; half <= 0xFFFF; ++half) {
    const uint32_t bits = std::bit_cast<uint32_t>(F16ToF32(static_cast<uint16_t>(half)));
    for (const uint32_t off : {0u, 1u, 0xFFFu, 0x1000u, 0x1001u, 0x1FFFu}) {
      x.push_back(std::bit_cast<float>(bits + off));
    }
  }
  const int64_t n = static_cast<int64_t>(x.size());
  for (const CpuLevel level : SupportedCpuLevels()) {
    std::vector<uint16_t> y(x.size());
    StoreF16(level, x.data(), n, y.data());
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i] != x[i]) {
        ASSERT_GT(y[i] & 0x7FFF, 0x7C00) << CpuLevelName(level) << std::hexfloat << x[i];
      } else {
        ASSERT_EQ(y[i], NearestF16(x[i])) << CpuLevelName(level) << std::hexfloat << x[i];
      }
    }
  }
}

TEST(Elementwise, StoreF16KeepsSubnormals) {
  const float x[] = {0x1p-24f, -0x1p-24f, 0x1.8p-24f, 0x1p-25f, 0x1.000002p-25f, 0x1.ffcp-15f};
  const uint16_t expected[] = {1, 0x8001, 2, 0, 1, 0x3FF + 1};
  for (const CpuLevel level : SupportedCpuLevels()) {
    uint16_t y[6];
    StoreF16(level, x, 6, y);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(y[i], expected[i]) << CpuLevelName(level) << " " << i;
  }
}

TEST(Elementwise, StoreF16OfEveryLength) {
  for (const CpuLevel level : SupportedCpuLevels()) {
    for (int64_t n = 1; n <= 40; ++n) {
      const std::vector<float> x = SeededValues(7).Floats(n, 1000.0f);
      GuardedBuffer<uint16_t> y(n);
      StoreF16(level, x.data(), n, y.data());
      for (int64_t i = 0; i < n; ++i) EXPECT_EQ(y[i], NearestF16(x[static_cast<size_t>(i)]));
      EXPECT_TRUE(y.GuardsIntact());
    }
  }
}

}  // namespace
}  // namespace fg
