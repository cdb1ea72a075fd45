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

}  // namespace
}  // namespace fg::cuda
