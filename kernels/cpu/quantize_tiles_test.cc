#include "kernels/cpu/quantize_tiles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/cpu/mmq_tiles_reference.h"
#include "kernels/cpu/quant_test_data.h"
#include "kernels/cpu/quantize_rows.h"
#include "kernels/cpu/quantize_rows_reference.h"

namespace fg {
namespace {

using testing::Activations;
using testing::Gaussian;

constexpr uint8_t kPoison = 0xA5;

std::vector<ActivationTile> Poisoned(size_t count) {
  std::vector<ActivationTile> plane(count);
  std::memset(static_cast<void*>(plane.data()), kPoison, count * sizeof(ActivationTile));
  return plane;
}

size_t TilesOf(int64_t rows, int64_t k) { return static_cast<size_t>(TileCount(rows) * (k / 32)); }

// What the plane must hold: the reference's rows, laid by the reference.
std::vector<ActivationTile> Expected(const std::vector<float>& x, int64_t ldx, int64_t rows,
                                     int64_t k) {
  std::vector<ActivationChunk> chunks(static_cast<size_t>(rows * k / 32));
  QuantizeRowsContract(x.data(), ldx, rows, k, chunks.data());
  std::vector<ActivationTile> plane(TilesOf(rows, k));
  TilesFromRows(chunks.data(), rows, k, plane.data());
  return plane;
}

bool SameTile(const ActivationTile& a, const ActivationTile& b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

bool IsPoison(const ActivationTile& tile) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&tile);
  for (size_t i = 0; i < sizeof(tile); ++i) {
    if (bytes[i] != kPoison) return false;
  }
  return true;
}

class QuantizeTilesTest : public ::testing::TestWithParam<CpuLevel> {
 protected:
  // The whole plane, one tile of poison behind it; compares byte for byte.
  void ExpectContract(const std::vector<float>& x, int64_t ldx, int64_t rows, int64_t k) {
    const std::vector<ActivationTile> expected = Expected(x, ldx, rows, k);
    std::vector<ActivationTile> plane = Poisoned(expected.size() + 1);
    QuantizeTiles(GetParam(), x.data(), ldx, rows, k, {0, TileCount(rows)}, plane.data());
    for (size_t t = 0; t < expected.size(); ++t) {
      ASSERT_TRUE(SameTile(plane[t], expected[t]))
          << "tile " << t << " rows " << rows << " k " << k;
    }
    ASSERT_TRUE(IsPoison(plane.back())) << "written behind the plane, rows " << rows << " k " << k;
  }
};

TEST_P(QuantizeTilesTest, EveryNumberOfRows) {
  for (int64_t rows = 1; rows <= 40; ++rows) {
    const std::vector<float> x = Activations(rows, 320, static_cast<uint32_t>(rows));
    ExpectContract(x, 320, rows, 320);
  }
}

TEST_P(QuantizeTilesTest, EveryWidth) {
  for (const int64_t k : {32, 64, 224, 256, 288, 832, 1536, 4544}) {
    const std::vector<float> x = Gaussian(19 * (k + 3), static_cast<uint32_t>(k), 3);
    ExpectContract(x, k + 3, 19, k);
  }
}

TEST_P(QuantizeTilesTest, OutliersNanInfinityAndSubnormals) {
  std::vector<float> x = Activations(21, 256, 5);
  const float specials[] = {std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(),
                            -std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::denorm_min(),
                            70000.0f,
                            std::ldexp(1.0f, -100),
                            std::nextafter(std::ldexp(1.0f, -100), 0.0f)};
  for (size_t i = 0; i < std::size(specials); ++i) {
    x[(2 * i + 1) * 256 + 37 * i % 256] = specials[i];
  }
  for (size_t i = 0; i < 32; ++i) x[20 * 256 + i] = std::numeric_limits<float>::denorm_min() * 9;
  for (size_t i = 0; i < 32; ++i) x[20 * 256 + 32 + i] = i == 3 ? 0x1p-99f : 1e-38f;
  ExpectContract(x, 256, 21, 256);

  // Said in numbers as well, so that a flaw of the reference shows.
  std::vector<ActivationTile> plane = Poisoned(TilesOf(21, 256));
  QuantizeTiles(GetParam(), x.data(), 256, 21, 256, {0, 2}, plane.data());
  EXPECT_EQ(testing::Bits(plane[0].d[1]), 0x7FC00000u);
  EXPECT_EQ(plane[0].sum[1][0], 0);
  EXPECT_EQ(testing::Bits(plane[0].d[3]), testing::Bits(plane[0].d[3]) & 0x7FFFFFFF);
  EXPECT_EQ(plane[8].d[4], 0);                  // row 20, chunk 0: subnormals
  EXPECT_EQ(plane[9].d[4], 0x1p-99f / 127.0f);  // chunk 1
  EXPECT_EQ(plane[9].q[0][4][3], 127);
  EXPECT_EQ(plane[9].sum[4][0], 127);
}

// Threads share out tiles: what was not asked for stays as it was.
TEST_P(QuantizeTilesTest, WritesTheTilesAskedForAlone) {
  const int64_t rows = 73, k = 320, chunks = k / 32;
  const std::vector<float> x = Activations(rows, k, 8);
  const std::vector<ActivationTile> expected = Expected(x, k, rows, k);
  for (const Range tiles : {Range{0, 1}, Range{1, 3}, Range{4, 5}, Range{2, 2}, Range{3, 5}}) {
    std::vector<ActivationTile> plane = Poisoned(expected.size());
    QuantizeTiles(GetParam(), x.data(), k, rows, k, tiles, plane.data());
    for (size_t at = 0; at < plane.size(); ++at) {
      const int64_t t = static_cast<int64_t>(at) / chunks;
      if (t >= tiles.begin && t < tiles.end) {
        ASSERT_TRUE(SameTile(plane[at], expected[at])) << at;
      } else {
        ASSERT_TRUE(IsPoison(plane[at])) << at << " of " << tiles.begin << " to " << tiles.end;
      }
    }
  }
}

// Rows past the last one are never read: the input ends with its last value.
TEST_P(QuantizeTilesTest, ReadsNothingPastTheRows) {
  const int64_t rows = 17, k = 64, ldx = 100;
  std::vector<float> x = Gaussian(rows * ldx, 3);
  const std::vector<ActivationTile> healthy = Expected(x, ldx, rows, k);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = k; i < ldx; ++i) {
      x[static_cast<size_t>(r * ldx + i)] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  x.resize(static_cast<size_t>((rows - 1) * ldx + k));
  x.shrink_to_fit();
  std::vector<ActivationTile> plane = Poisoned(healthy.size());
  QuantizeTiles(GetParam(), x.data(), ldx, rows, k, {0, 2}, plane.data());
  for (size_t at = 0; at < plane.size(); ++at) ASSERT_TRUE(SameTile(plane[at], healthy[at])) << at;
}

TEST_P(QuantizeTilesTest, DirtyTailLeavesTheTailAndNothingElse) {
  const int64_t rows = 19, k = 96;
  const std::vector<float> x = Gaussian(rows * k, 4);
  const std::vector<ActivationTile> healthy = Expected(x, k, rows, k);
  std::vector<ActivationTile> plane = Poisoned(healthy.size());
  QuantizeTiles(GetParam(), x.data(), k, rows, k, {0, 2}, plane.data(), KernelFault::kDirtyTail);
  for (size_t at = 0; at < plane.size(); ++at) {
    for (int r = 0; r < kTileRows; ++r) {
      const bool inside = static_cast<int64_t>(at) / 3 * 16 + r < rows;
      const float poison = std::bit_cast<float>(0xA5A5A5A5u);
      ASSERT_EQ(testing::Bits(plane[at].d[r]), testing::Bits(inside ? healthy[at].d[r] : poison))
          << at << " " << r;
      for (int i = 0; i < 8; ++i) {
        for (int b = 0; b < 4; ++b) {
          ASSERT_EQ(plane[at].q[i][r][b],
                    inside ? healthy[at].q[i][r][b] : static_cast<int8_t>(kPoison));
        }
      }
      const int16_t dirty = static_cast<int16_t>(0xA5A5);
      ASSERT_EQ(plane[at].sum[r][1], inside ? healthy[at].sum[r][1] : dirty);
    }
  }
}

// The defect is the row quantizer's own: the same four bits on every level.
TEST_P(QuantizeTilesTest, CoarseQuantIsThatOfTheRows) {
  const int64_t rows = 18, k = 288;
  const std::vector<float> x = Activations(rows, k, 6);
  std::vector<ActivationChunk> chunks(static_cast<size_t>(rows * k / 32));
  QuantizeRows(CpuLevel::kPlain, x.data(), k, rows, k, chunks.data(), KernelFault::kCoarseQuant);
  std::vector<ActivationTile> coarse(TilesOf(rows, k)), plane(coarse.size());
  TilesFromRows(chunks.data(), rows, k, coarse.data());
  QuantizeTiles(GetParam(), x.data(), k, rows, k, {0, 2}, plane.data(), KernelFault::kCoarseQuant);
  size_t off = 0;
  const std::vector<ActivationTile> healthy = Expected(x, k, rows, k);
  for (size_t at = 0; at < plane.size(); ++at) {
    ASSERT_TRUE(SameTile(plane[at], coarse[at])) << at;
    off += !SameTile(plane[at], healthy[at]);
  }
  EXPECT_EQ(off, plane.size());
}

INSTANTIATE_TEST_SUITE_P(Levels, QuantizeTilesTest, ::testing::ValuesIn(SupportedCpuLevels()),
                         [](const auto& info) { return CpuLevelName(info.param); });

}  // namespace
}  // namespace fg
