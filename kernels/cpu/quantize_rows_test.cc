#include "kernels/cpu/quantize_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/cpu/quant_test_data.h"
#include "kernels/cpu/quantize_rows_reference.h"

namespace fg {
namespace {

using testing::Activations;
using testing::Bits;
using testing::Gaussian;

constexpr uint32_t kNanBits = 0x7FC00000;

class QuantizeRowsTest : public ::testing::TestWithParam<CpuLevel> {
 protected:
  // One chunk, its neighbours in memory watched.
  ActivationChunk Chunk(const std::vector<float>& x, KernelFault fault = KernelFault::kNone) {
    EXPECT_EQ(x.size(), 32u);
    std::vector<ActivationChunk> plane(3);
    std::memset(plane.data(), 0xA5, sizeof(ActivationChunk) * 3);
    QuantizeRows(GetParam(), x.data(), 32, 1, 32, plane.data() + 1, fault);
    for (const size_t guard : {0u, 2u}) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(&plane[guard]);
      for (size_t i = 0; i < sizeof(ActivationChunk); ++i) EXPECT_EQ(bytes[i], 0xA5) << guard;
    }
    return plane[1];
  }

  void ExpectContract(const std::vector<float>& x) {
    ActivationChunk expected;
    QuantizeRowsContract(x.data(), 32, 1, 32, &expected);
    const ActivationChunk got = Chunk(x);
    ASSERT_EQ(std::memcmp(&got, &expected, sizeof(got)), 0)
        << "d " << got.d << " for " << expected.d << ", q[0] " << int(got.q[0]) << " for "
        << int(expected.q[0]);
  }
};

TEST_P(QuantizeRowsTest, EqualsTheContractByteForByte) {
  for (const int64_t k : {32, 64, 256, 288, 1024, 4544}) {
    for (const int64_t rows : {1, 2, 3, 17}) {
      const int64_t ldx = k + 5;
      std::vector<float> x = Gaussian(rows * ldx, static_cast<uint32_t>(k + rows), 2);
      if (k >= 256) x = Activations(rows, ldx, static_cast<uint32_t>(k + rows));
      const size_t count = static_cast<size_t>(rows * k / 32);
      std::vector<ActivationChunk> expected(count), plane(count + 1);
      std::memset(plane.data(), 0xA5, sizeof(ActivationChunk) * plane.size());
      QuantizeRowsContract(x.data(), ldx, rows, k, expected.data());
      QuantizeRows(GetParam(), x.data(), ldx, rows, k, plane.data());
      ASSERT_EQ(std::memcmp(plane.data(), expected.data(), count * sizeof(ActivationChunk)), 0)
          << "k " << k << " rows " << rows;
      ASSERT_EQ(plane[count].q[0], static_cast<int8_t>(0xA5)) << "written behind the plane";
    }
  }
}

// Every finite magnitude as the largest value of a chunk, from the smallest subnormal on.
TEST_P(QuantizeRowsTest, EveryExponent) {
  for (int exponent = -149; exponent <= 127; ++exponent) {
    for (const float fraction : {1.0f, 1.25f, 1.9999999f}) {
      std::vector<float> x = Gaussian(32, static_cast<uint32_t>(exponent + 200));
      const float scale = std::ldexp(1.0f, exponent);
      for (float& v : x) v = std::fmin(std::fmax(v / 8, -0.99f), 0.99f) * scale;
      x[13] = -fraction * scale;
      ExpectContract(x);
    }
  }
}

TEST_P(QuantizeRowsTest, BelowTheThresholdAllIsZero) {
  const float threshold = std::ldexp(1.0f, -100);
  std::vector<float> x(32, 0.0f);
  x[3] = -std::nextafter(threshold, 0.0f);
  x[4] = -0.0f;
  x[5] = std::numeric_limits<float>::denorm_min();
  const ActivationChunk below = Chunk(x);
  const ActivationChunk zero = {};
  EXPECT_EQ(std::memcmp(&below, &zero, sizeof(zero)), 0);

  x[3] = threshold;  // 127 / amax = 127 * 2^100 is still finite
  const ActivationChunk at = Chunk(x);
  EXPECT_EQ(at.d, threshold / 127.0f);
  EXPECT_GT(at.d, 0.0f);
  EXPECT_EQ(at.q[3], 127);
  EXPECT_EQ(at.q[4], 0);
  EXPECT_EQ(at.q[5], 0);
  ExpectContract(x);
  x[3] = std::nextafter(threshold, 1.0f);
  ExpectContract(x);
  x[3] = std::numeric_limits<float>::max();
  ExpectContract(x);
}

// amax = 127 makes r = 1: halves are ties, and go to the even neighbour.
TEST_P(QuantizeRowsTest, TiesGoToEven) {
  std::vector<float> x(32, 0.0f);
  x[0] = 127;
  const float ties[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 125.5f, 126.5f, -126.5f};
  const int even[] = {0, 2, 2, 0, -2, -2, 126, 126, -126};
  for (size_t i = 0; i < std::size(ties); ++i) x[i + 1] = ties[i];
  const ActivationChunk chunk = Chunk(x);
  EXPECT_EQ(chunk.d, 1.0f);
  for (size_t i = 0; i < std::size(ties); ++i) EXPECT_EQ(chunk.q[i + 1], even[i]) << ties[i];
  EXPECT_EQ(chunk.sum[0], 127 + 0 + 2 + 2 - 0 - 2 - 2 + 126 + 126 - 126);
  EXPECT_EQ(chunk.sum[1], 0);
}

// v * r, not v / d and not v * (1 / d): one value for which each spelling gives its own code.
TEST_P(QuantizeRowsTest, TheSpellingIsPartOfTheDefinition) {
  int by_d = 0, by_inverse = 0;
  for (uint32_t seed = 0; seed < 20000 && (by_d == 0 || by_inverse == 0); ++seed) {
    const std::vector<float> x = Gaussian(32, seed);
    const ActivationChunk chunk = Chunk(x);
    for (size_t i = 0; i < 32; ++i) {
      by_d += std::rint(x[i] / chunk.d) != chunk.q[i];
      by_inverse += std::rint(x[i] * (1 / chunk.d)) != chunk.q[i];
    }
  }
  EXPECT_GT(by_d, 0);
  EXPECT_GT(by_inverse, 0);
}

TEST_P(QuantizeRowsTest, SumsOfTheHalves) {
  std::vector<float> x(32, 127.0f);
  ActivationChunk chunk = Chunk(x);
  EXPECT_EQ(chunk.sum[0], 16 * 127);
  EXPECT_EQ(chunk.sum[1], 16 * 127);
  for (size_t i = 16; i < 32; ++i) x[i] = -127;
  chunk = Chunk(x);
  EXPECT_EQ(chunk.sum[0], 16 * 127);
  EXPECT_EQ(chunk.sum[1], -16 * 127);
}

// A maximum that drops NaN depends on the NaN's place; ours may not.
TEST_P(QuantizeRowsTest, NotFiniteInAnyPlace) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float signalling = std::bit_cast<float>(0x7F800001u);
  for (const float special : {infinity, -infinity, nan, -nan, signalling}) {
    for (size_t at = 0; at < 32; ++at) {
      std::vector<float> x = Gaussian(32, 77);
      x[at] = special;
      const ActivationChunk chunk = Chunk(x);
      EXPECT_EQ(Bits(chunk.d), kNanBits);
      for (const int8_t q : chunk.q) EXPECT_EQ(q, 0);
      EXPECT_EQ(chunk.sum[0], 0);
      EXPECT_EQ(chunk.sum[1], 0);
    }
  }
}

TEST_P(QuantizeRowsTest, NanSpoilsItsChunkAlone) {
  std::vector<float> x = Gaussian(96, 78);
  std::vector<ActivationChunk> before(3), after(3);
  QuantizeRows(GetParam(), x.data(), 96, 1, 96, before.data());
  x[40] = std::numeric_limits<float>::quiet_NaN();
  QuantizeRows(GetParam(), x.data(), 96, 1, 96, after.data());
  EXPECT_EQ(std::memcmp(&before[0], &after[0], sizeof(ActivationChunk)), 0);
  EXPECT_EQ(Bits(after[1].d), kNanBits);
  EXPECT_EQ(std::memcmp(&before[2], &after[2], sizeof(ActivationChunk)), 0);
}

TEST_P(QuantizeRowsTest, CoarseFaultKeepsFourBits) {
  const std::vector<float> x = Gaussian(32, 79);
  const ActivationChunk healthy = Chunk(x);
  const ActivationChunk coarse = Chunk(x, KernelFault::kCoarseQuant);
  EXPECT_EQ(coarse.d, healthy.d);
  int sums[2] = {0, 0};
  int moved = 0;
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(coarse.q[i] % 16, 0);
    EXPECT_LE(std::abs(coarse.q[i] - healthy.q[i]), std::abs(healthy.q[i]) > 112 ? 15 : 8);
    moved += coarse.q[i] != healthy.q[i];
    sums[i / 16] += coarse.q[i];
  }
  EXPECT_GT(moved, 16);
  EXPECT_EQ(coarse.sum[0], sums[0]);
  EXPECT_EQ(coarse.sum[1], sums[1]);
}

TEST_P(QuantizeRowsTest, FaultsGiveTheSameBitsOnEveryLevel) {
  const std::vector<float> x = Activations(4, 256, 80);
  std::vector<ActivationChunk> plain(32), level(32), healthy(32);
  QuantizeRows(CpuLevel::kPlain, x.data(), 256, 4, 256, plain.data(), KernelFault::kCoarseQuant);
  QuantizeRows(GetParam(), x.data(), 256, 4, 256, level.data(), KernelFault::kCoarseQuant);
  EXPECT_EQ(std::memcmp(plain.data(), level.data(), sizeof(ActivationChunk) * 32), 0);
  // A fault of another kernel is none of the quantizer's.
  QuantizeRows(CpuLevel::kPlain, x.data(), 256, 4, 256, plain.data());
  QuantizeRows(GetParam(), x.data(), 256, 4, 256, healthy.data(), KernelFault::kDropMin);
  EXPECT_EQ(std::memcmp(plain.data(), healthy.data(), sizeof(ActivationChunk) * 32), 0);
}

INSTANTIATE_TEST_SUITE_P(All, QuantizeRowsTest, ::testing::ValuesIn(SupportedCpuLevels()),
                         [](const auto& info) { return std::string(CpuLevelName(info.param)); });

}  // namespace
}  // namespace fg
