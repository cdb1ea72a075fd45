#include "kernels/formats/planes.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <vector>

namespace fg {
namespace {

// Constant expressions, so that device code may use them too.
static_assert(TileCount(0) == 0 && TileCount(1) == 1 && TileCount(16) == 1 && TileCount(17) == 2);
static_assert(TileIndex(16, 0, 48) == 48 && TilePlaneBytes(17, 64) == 2 * 2 * 640);
static_assert(ScalePairIndex(3, 5, 100) == 305 && ScalePlaneBytes(256, 3) == 8 * 3 * 8);
static_assert(ExpandedPlaneBytes(256, 3) == 8 * 3 * 40);

TEST(Planes, TileCountCoversEveryRow) {
  for (int64_t rows = 0; rows <= 1000; ++rows) {
    const int64_t tiles = TileCount(rows);
    EXPECT_GE(tiles * 16, rows) << rows;
    EXPECT_LT(tiles * 16, rows + 16) << rows;
  }
}

TEST(Planes, TileIndexMeetsEveryTileSixteenTimes) {
  for (const int64_t chunks : {1, 2, 7, 8, 48, 280}) {
    for (const int64_t rows : {1, 15, 16, 17, 33, 64, 100}) {
      std::vector<int> hits(static_cast<size_t>(TileCount(rows) * chunks), 0);
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t c = 0; c < chunks; ++c) {
          const int64_t at = TileIndex(row, c, chunks);
          ASSERT_GE(at, 0);
          ASSERT_LT(at, static_cast<int64_t>(hits.size())) << row << " " << c << " " << chunks;
          ++hits[static_cast<size_t>(at)];
          // Chunks of one row lie side by side, rows of one tile in the same tiles.
          ASSERT_EQ(at % chunks, c);
          ASSERT_EQ(at / chunks, row / 16);
        }
      }
      for (size_t at = 0; at < hits.size(); ++at) {
        const int64_t left = rows - static_cast<int64_t>(at) / chunks * 16;
        ASSERT_EQ(hits[at], left < 16 ? left : 16) << at;
      }
    }
  }
}

TEST(Planes, TileValueOffsetIsTheFieldsOwn) {
  ActivationTile tile;
  std::set<int> seen;
  for (int r = 0; r < kTileRows; ++r) {
    for (int v = 0; v < 32; ++v) {
      const int offset = TileValueOffset(r, v);
      EXPECT_EQ(offset, &tile.q[v / 4][r][v % 4] - &tile.q[0][0][0]) << r << " " << v;
      EXPECT_TRUE(seen.insert(offset).second) << r << " " << v;
    }
  }
  EXPECT_EQ(seen.size(), 512u);
  EXPECT_EQ(*seen.begin(), 0);
  EXPECT_EQ(*seen.rbegin(), 511);
}

TEST(Planes, LayoutOfATile) {
  EXPECT_EQ(offsetof(ActivationTile, q), 0u);
  EXPECT_EQ(offsetof(ActivationTile, d), 512u);
  EXPECT_EQ(offsetof(ActivationTile, sum), 576u);
  EXPECT_EQ(offsetof(ExpandedChunkQ6_K, d), 32u);
  EXPECT_EQ(offsetof(ExpandedChunkQ6_K, sc), 36u);
  EXPECT_EQ(offsetof(ExpandedChunkQ6_K, zero), 38u);
  EXPECT_EQ(offsetof(ScalePair, wm), 4u);
}

// 40 bytes a row and chunk, as a row-major plane has, rows rounded up to a tile.
TEST(Planes, BytesOfATilePlane) {
  for (const int64_t k : {32, 256, 1536, 8960}) {
    for (int64_t rows = 1; rows <= 100; ++rows) {
      EXPECT_EQ(TilePlaneBytes(rows, k),
                static_cast<uint64_t>((rows + 15) / 16 * 16 * (k / 32) * 40));
    }
  }
}

TEST(Planes, ScalePairIndexFillsThePlane) {
  for (const int64_t chunks : {8, 16, 48}) {
    for (const int64_t out : {1, 3, 100}) {
      std::set<int64_t> seen;
      for (int64_t c = 0; c < chunks; ++c) {
        for (int64_t o = 0; o < out; ++o) seen.insert(ScalePairIndex(c, o, out));
      }
      EXPECT_EQ(static_cast<int64_t>(seen.size()), chunks * out);
      EXPECT_EQ(*seen.begin(), 0);
      EXPECT_EQ(static_cast<uint64_t>(*seen.rbegin() + 1) * sizeof(ScalePair),
                ScalePlaneBytes(32 * chunks, out));
      // Chunk-major: neighbouring outputs of one chunk are neighbours.
      EXPECT_EQ(ScalePairIndex(1, 0, out), out);
    }
  }
}

// Bytes for weights of real sizes, beyond 32 bits of count.
TEST(Planes, BytesOfWeightPlanes) {
  EXPECT_EQ(ScalePlaneBytes(8960, 1536), 8960ull * 1536 / 32 * 8);
  EXPECT_EQ(ExpandedPlaneBytes(8960, 1536), 8960ull * 1536 / 32 * 40);
  EXPECT_EQ(ExpandedPlaneBytes(int64_t{1} << 20, int64_t{1} << 14), (uint64_t{1} << 29) * 40);
}

}  // namespace
}  // namespace fg
