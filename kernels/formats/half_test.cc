#include "kernels/formats/half.h"

#include <gtest/gtest.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace fg {
namespace {

uint32_t Bits(float value) { return std::bit_cast<uint32_t>(value); }

bool IsNan16(uint16_t h) { return (h & 0x7FFF) > 0x7C00; }

// The definition, in double: sign * (1 + m/1024) * 2^(e-15), or m * 2^-24 where e is 0.
double ValueOf(uint16_t h) {
  const int exponent = (h >> 10) & 31, mantissa = h & 1023;
  double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  if (exponent == 31) magnitude = std::numeric_limits<double>::infinity();
  return (h & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Half, EveryHalfHasItsValue) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const float value = F16ToF32(static_cast<uint16_t>(h));
    if (IsNan16(static_cast<uint16_t>(h))) {
      ASSERT_TRUE(std::isnan(value)) << h;
    } else {
      ASSERT_EQ(static_cast<double>(value), ValueOf(static_cast<uint16_t>(h))) << h;
      ASSERT_EQ(std::signbit(value), (h & 0x8000) != 0) << h;
    }
  }
}

TEST(Half, EveryHalfComesBack) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const uint16_t back = F32ToF16(F16ToF32(static_cast<uint16_t>(h)));
    if (IsNan16(static_cast<uint16_t>(h))) {
      ASSERT_TRUE(IsNan16(back)) << h;
      ASSERT_EQ(back & 0x8000, h & 0x8000) << h;
    } else {
      ASSERT_EQ(back, h);
    }
  }
}

// Between every two neighbours: the middle goes to the even one, one f32 beside it to the nearer.
// The last pair is 65504 and 2^16, where infinity begins; the first is 0 and 2^-24.
TEST(Half, EveryTie) {
  for (uint32_t h = 0; h < 0x7C00; ++h) {
    const double low = ValueOf(static_cast<uint16_t>(h));
    const double high = h + 1 == 0x7C00 ? 65536.0 : ValueOf(static_cast<uint16_t>(h + 1));
    const float middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(static_cast<double>(middle), (low + high) / 2);
    const uint32_t even = h % 2 == 0 ? h : h + 1;
    for (const uint32_t sign : {0u, 0x8000u}) {
      const float s = sign != 0 ? -1.0f : 1.0f;
      ASSERT_EQ(F32ToF16(s * middle), sign | even) << h;
      ASSERT_EQ(F32ToF16(s * std::nextafter(middle, 0.0f)), sign | h) << h;
      ASSERT_EQ(F32ToF16(s * std::nextafter(middle, 1e9f)), sign | (h + 1)) << h;
    }
  }
}

TEST(Half, Ends) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(F32ToF16(infinity), 0x7C00);
  EXPECT_EQ(F32ToF16(-infinity), 0xFC00);
  EXPECT_EQ(F32ToF16(std::numeric_limits<float>::max()), 0x7C00);
  EXPECT_EQ(F32ToF16(-0.0f), 0x8000);
  EXPECT_EQ(F32ToF16(std::numeric_limits<float>::denorm_min()), 0);
  // A NaN whose upper mantissa bits are zero must not turn into an infinity.
  EXPECT_EQ(F32ToF16(std::bit_cast<float>(0x7F800001u)), 0x7E00);
  EXPECT_EQ(F32ToF16(std::bit_cast<float>(0xFFC02000u)), 0xFE01);
}

#if defined(__x86_64__)
__attribute__((target("f16c"))) uint16_t HardwareToHalf(float value) {
  return static_cast<uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
}

TEST(Half, AgreesWithTheProcessor) {
  if (!__builtin_cpu_supports("f16c")) GTEST_SKIP() << "this processor has no F16C";
  std::mt19937 engine(1);
  for (int i = 0; i < 4'000'000; ++i) {
    uint32_t bits = engine();
    // Half of the samples where f16 has values: exponents 2^-26 to 2^17.
    if (i % 2 == 0) bits = (bits & 0x807FFFFF) | ((101 + (bits >> 23) % 44) << 23);
    const float value = std::bit_cast<float>(bits);
    ASSERT_EQ(F32ToF16(value), HardwareToHalf(value)) << std::hex << bits;
  }
}
#endif

TEST(BF16, EveryValueComesBack) {
  for (uint32_t b = 0; b < 0x10000; ++b) {
    const float value = BF16ToF32(static_cast<uint16_t>(b));
    ASSERT_EQ(Bits(value), b << 16);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(BF16ToF32(F32ToBF16(value)))) << b;
    } else {
      ASSERT_EQ(F32ToBF16(value), b);
    }
  }
}

TEST(BF16, EveryTie) {
  for (uint32_t b = 0; b < 0x7F80; ++b) {
    for (const uint32_t sign : {0u, 0x8000u}) {
      const auto at = [&](uint32_t low) { return std::bit_cast<float>((sign | b) << 16 | low); };
      ASSERT_EQ(F32ToBF16(at(0x7FFF)), sign | b);
      ASSERT_EQ(F32ToBF16(at(0x8000)), sign | (b % 2 == 0 ? b : b + 1));
      ASSERT_EQ(F32ToBF16(at(0x8001)), sign | (b + 1));
    }
  }
}

TEST(BF16, NanStaysNan) {
  for (const uint32_t bits : {0x7F800001u, 0x7FFFFFFFu, 0xFF800001u, 0xFFFFFFFFu}) {
    const uint16_t b = F32ToBF16(std::bit_cast<float>(bits));
    EXPECT_TRUE(std::isnan(BF16ToF32(b))) << std::hex << bits;
    EXPECT_EQ(b >> 15, bits >> 31);
  }
}

// Usable in constant expressions, as tables of the kernels are.
static_assert(F16ToF32(0x3C00) == 1.0f && F32ToF16(0.1f) == 0x2E66);
static_assert(BF16ToF32(0x3F80) == 1.0f && F32ToBF16(1.0f) == 0x3F80);

}  // namespace
}  // namespace fg
