#include "kernels/cuda/matvec_share.h"

#include <gtest/gtest.h>

namespace fg::cuda {
namespace {

// With 264 blocks at once (132 multiprocessors, two each), shapes of a 7b model.
TEST(MatvecShare, FillsWholeRounds) {
  EXPECT_EQ(TilesOfBlock(1, 264), 1);
  EXPECT_EQ(TilesOfBlock(224, 264), 1);  // 3584 outputs: one round
  EXPECT_EQ(TilesOfBlock(264, 264), 1);
  EXPECT_EQ(TilesOfBlock(288, 264), 2);   // q, k and v: a second round for 24 blocks would be dear
  EXPECT_EQ(TilesOfBlock(9504, 264), 4);  // 152064 outputs: nine full rounds
  for (int64_t tiles = 1; tiles < 3000; ++tiles) {
    const int each = TilesOfBlock(tiles, 264);
    ASSERT_TRUE(each >= 1 && each <= kMostTilesOfBlock) << tiles;
  }
}

// Every pair has a warp; a multiprocessor holds its blocks' warps.
TEST(BulkGridOf, HoldsAllPairs) {
  for (int multiprocessors : {1, 46, 132}) {
    for (int64_t pairs = 1; pairs < 6000; ++pairs) {
      const BulkGrid grid = BulkGridOf(pairs, multiprocessors);
      ASSERT_GE(grid.blocks * grid.warps * grid.tiles, pairs);
      ASSERT_LE(grid.warps, kMostBulkWarps);
      ASSERT_LE(grid.blocks, 2 * multiprocessors);
      ASSERT_TRUE(grid.blocks <= multiprocessors || grid.warps <= 12);
    }
  }
}

TEST(BulkGridOf, OfA7bModel) {
  const BulkGrid down = BulkGridOf(1792, 132), qkv = BulkGridOf(2304, 132),
                 output = BulkGridOf(76032, 132);
  EXPECT_EQ(down.blocks, 132);
  EXPECT_EQ(down.warps, 14);
  EXPECT_EQ(down.tiles, 1);
  EXPECT_EQ(qkv.blocks, 264);
  EXPECT_EQ(qkv.warps, 9);
  EXPECT_EQ(qkv.tiles, 1);
  EXPECT_EQ(output.blocks, 132);
  EXPECT_EQ(output.warps, 16);
  EXPECT_EQ(output.tiles, 36);
}

}  // namespace
}  // namespace fg::cuda
