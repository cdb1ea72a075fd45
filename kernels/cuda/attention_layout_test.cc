#include "kernels/cuda/attention_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <vector>

namespace fg::cuda {
namespace {

TEST(AttentionBucketOf, IsTheLeastStepThatHolds) {
  EXPECT_EQ(AttentionBucketOf(1), 256);
  EXPECT_EQ(AttentionBucketOf(256), 256);
  EXPECT_EQ(AttentionBucketOf(257), 320);
  EXPECT_EQ(AttentionBucketOf(512), 512);
  EXPECT_EQ(AttentionBucketOf(513), 640);
  EXPECT_EQ(AttentionBucketOf(3314), 3584);
  EXPECT_EQ(AttentionBucketOf(32769), 40960);
}

TEST(AttentionBucketOf, GrowsAndWastesAQuarterAtMost) {
  int64_t before = 0;
  std::set<int64_t> buckets;
  for (int64_t length = 1; length <= 40000; ++length) {
    const int64_t bucket = AttentionBucketOf(length);
    ASSERT_GE(bucket, length);
    ASSERT_GE(bucket, before);
    ASSERT_EQ(AttentionBucketOf(bucket), bucket);
    ASSERT_TRUE(length <= 256 || bucket < length + length / 4 + 1) << length;
    before = bucket;
    buckets.insert(bucket);
  }
  EXPECT_LE(buckets.size(), 31u);
}

TEST(AttentionParts, CoverEachLengthOnce) {
  for (int64_t bucket = 1; bucket <= 9000; bucket += 7) {
    const int64_t part = AttentionPartLength(bucket);
    ASSERT_GE(part, kAttentionFewestKeys);
    ASSERT_EQ(part % 8, 0);
    const int64_t parts = AttentionParts(bucket, bucket);
    ASSERT_LE(parts, kAttentionMostParts) << bucket;
    ASSERT_LE(parts, AttentionMostParts(bucket)) << bucket;
    ASSERT_LT((parts - 1) * part, bucket);
    ASSERT_GE(parts * part, bucket);
    for (const int64_t length : {int64_t{1}, bucket / 2 + 1, bucket}) {
      const int64_t live = AttentionParts(bucket, length);
      ASSERT_LE(live, parts);
      ASSERT_LT((live - 1) * part, length);
      ASSERT_GE(live * part, length);
    }
  }
}

TEST(AttentionMostParts, HoldsForEachSmallerBucket) {
  int64_t most = 0;
  for (int64_t bucket = 1; bucket <= 70000; ++bucket) {
    most = std::max(most, AttentionParts(bucket, bucket));
    ASSERT_GE(AttentionMostParts(bucket), most) << bucket;
  }
}

TEST(AttentionHeadBlocks, ShareOutAGroup) {
  for (int64_t group = 1; group <= 64; ++group) {
    const int64_t blocks = AttentionHeadBlocks(group), heads = AttentionHeadsPerBlock(group);
    ASSERT_LE(heads, kAttentionBlockHeads);
    ASSERT_GE(blocks * heads, group);
    ASSERT_LT((blocks - 1) * heads, group) << "a block without heads";
  }
  EXPECT_EQ(AttentionHeadBlocks(7), 1);
  EXPECT_EQ(AttentionHeadsPerBlock(8), 4);
}

TEST(AttentionSliceRows, LeavesACounterToEachBlock) {
  EXPECT_EQ(AttentionSliceRows(4, 7), 64);
  for (int64_t kv_heads = 1; kv_heads <= 1024; kv_heads *= 2) {
    for (const int64_t group : {1, 7, 8, 64}) {
      const int64_t rows = AttentionSliceRows(kv_heads, group);
      ASSERT_LE(rows * kv_heads * AttentionHeadBlocks(group), kAttentionCounters);
    }
  }
}

TEST(AttentionScratchBytes, KeepsCountersPairsAndSumsApart) {
  EXPECT_EQ(AttentionPairsOffset(), 65536);
  EXPECT_EQ(AttentionSumsOffset(1, 28, 32), 65536 + 28 * 32 * 8);
  EXPECT_EQ(AttentionSumsOffset(1, 1, 1) % 16, 0);
  EXPECT_EQ(AttentionScratchBytes(1, 28, 32, 128), 65536 + 28 * 32 * 8 + 28 * 32 * 128 * 4);
  EXPECT_EQ(AttentionScratchBytes(2, 1, 3, 2), 65536 + 48 + 2 * 3 * 4 * 4);
}

// Sums over a key's lanes as the kernel does them, on whole numbers.
void ExpectLaneEndsWithItsRow(int lanes, int batch) {
  std::vector<std::vector<int>> dot(static_cast<size_t>(lanes));
  for (int l = 0; l < lanes; ++l) {
    for (int i = 0; i < batch; ++i) dot[static_cast<size_t>(l)].push_back(1000 * i + l);
  }
  int bit = lanes / 2;
  for (int half = batch / 2; half > 0; half /= 2, bit /= 2) {
    auto next = dot;
    for (int l = 0; l < lanes; ++l) {
      const auto& mine = dot[static_cast<size_t>(l)];
      const auto& other = dot[static_cast<size_t>(l ^ bit)];
      for (int j = 0; j < half; ++j) {
        const size_t keep = static_cast<size_t>((l & bit) != 0 ? j + half : j);
        next[static_cast<size_t>(l)][static_cast<size_t>(j)] = mine[keep] + other[keep];
      }
    }
    dot = next;
  }
  for (; bit > 0; bit /= 2) {
    auto next = dot;
    for (int l = 0; l < lanes; ++l) {
      next[static_cast<size_t>(l)][0] += dot[static_cast<size_t>(l ^ bit)][0];
    }
    dot = next;
  }
  for (int l = 0; l < lanes; ++l) {
    const int row = AttentionRowOfLane(l, lanes, batch);
    EXPECT_EQ(dot[static_cast<size_t>(l)][0], lanes * 1000 * row + lanes * (lanes - 1) / 2)
        << lanes << " lanes, batch " << batch << ", lane " << l;
  }
}

TEST(AttentionRowOfLane, IsTheRowWhoseDotALaneEndsWith) {
  for (const int lanes : {8, 16}) {
    for (const int batch : {2, 4, 8}) ExpectLaneEndsWithItsRow(lanes, batch);
  }
}

TEST(AttentionBatch, MeetsAPartAtOnceWhereItCan) {
  EXPECT_EQ(AttentionLanes(128), 16);
  EXPECT_EQ(AttentionSweep(128, 2), 32);
  EXPECT_EQ(AttentionSweep(64, 8), 256);
  EXPECT_EQ(AttentionBatch(128, 32), 2);
  EXPECT_EQ(AttentionBatch(128, 40), 4);
  EXPECT_EQ(AttentionBatch(128, 112), 8);
  EXPECT_EQ(AttentionBatch(128, 1024), 8);
  EXPECT_EQ(AttentionBatch(64, 64), 2);
}

TEST(AttentionTileOffset, IsAPermutationOfPieces) {
  for (const int rows : {kAttentionTileRows, kAttentionTileKeys}) {
    for (const int pieces : {8, 16}) {
      std::set<int> seen;
      for (int row = 0; row < rows; ++row) {
        for (int piece = 0; piece < pieces; ++piece) {
          const int offset = AttentionTileOffset(row, piece, rows);
          EXPECT_EQ(offset % 16, 0);
          EXPECT_LT(offset, rows * pieces * 16);
          seen.insert(offset);
        }
      }
      EXPECT_EQ(seen.size(), static_cast<size_t>(rows * pieces));
    }
  }
}

// The eight addresses of one 8x8 matrix, and the eight lanes that store 16 bytes at a time.
TEST(AttentionTileOffset, EightRowsMeetAllBanks) {
  for (int row = 0; row < kAttentionTileKeys; row += 8) {
    for (int piece = 0; piece < 16; ++piece) {
      std::set<int> banks;
      for (int r = 0; r < 8; ++r) {
        banks.insert(AttentionTileOffset(row + r, piece, kAttentionTileKeys) % 128);
      }
      EXPECT_EQ(banks.size(), 8u);
    }
  }
}

TEST(AttentionTileMove, EqualsTheOffset) {
  for (const int rows : {kAttentionTileRows, kAttentionTileKeys}) {
    for (int row = 0; row < 16; ++row) {
      for (const int first : {0, 1}) {
        for (int on = 0; on + row < rows; on += 8) {
          for (int pieces = 0; pieces < 16; pieces += 2) {
            const uint32_t from =
                5 * 1024 + static_cast<uint32_t>(AttentionTileOffset(row, first, rows));
            ASSERT_EQ(AttentionTileMove(from, on, pieces, rows),
                      5 * 1024 + static_cast<uint32_t>(
                                     AttentionTileOffset(row + on, first + pieces, rows)));
          }
        }
      }
    }
  }
}

// Lane 4g+t of ldmatrix gets from matrix m the pair at (row g, columns 2t, 2t+1), or transposed the
// pair at (rows 2t, 2t+1, column g). What the operands want is written in mma.cuh.
struct Cell {
  int row, column;
  bool operator==(const Cell&) const = default;
};
Cell Loaded(AttentionMatrixLane (*of)(int), int lane, int matrix, int half, bool transposed) {
  const int g = lane / 4, t = lane % 4;
  const int within_row = transposed ? 2 * t + half : g;
  const int within_column = transposed ? g : 2 * t + half;
  // Each address is of one row of a matrix: it must be the one that belongs there.
  const AttentionMatrixLane at = of(matrix * 8 + within_row);
  return {at.row, at.piece * 8 + within_column};
}

TEST(AttentionLanes, LoadTheOperandsThatTheProductWants) {
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int half = 0; half < 2; ++half) {
      for (int m = 0; m < 4; ++m) {
        // a[m]: row g or g+8 (m odd), k at 2t or 2t+8 (m of 2 and 3).
        EXPECT_EQ(Loaded(AttentionLaneOfA, lane, m, half, false),
                  (Cell{g + m % 2 * 8, 2 * t + half + m / 2 * 8}));
        // b[m]: n = g of the first (m of 0 and 1) or second operand, k at 2t or 2t+8 (m odd).
        EXPECT_EQ(Loaded(AttentionLaneOfKeys, lane, m, half, false),
                  (Cell{g + m / 2 * 8, 2 * t + half + m % 2 * 8}));
        EXPECT_EQ(Loaded(AttentionLaneOfValues, lane, m, half, true),
                  (Cell{2 * t + half + m % 2 * 8, g + m / 2 * 8}));
      }
    }
  }
}

TEST(AttentionQueryShift, BringsARowBelow32768) {
  for (const float v : {1e-30f, 0.3f, 1.0f, 32767.9f, 32768.0f, 70000.0f, 3e38f}) {
    const int shift = AttentionQueryShift(std::bit_cast<uint32_t>(v));
    const double scaled = std::ldexp(static_cast<double>(v), -shift);
    EXPECT_LT(scaled, 32768.0) << v;
    EXPECT_TRUE(v < 1e-20f || scaled >= 16384.0) << v;
    EXPECT_GE(shift, -100);
    EXPECT_LE(shift, 113);
  }
  EXPECT_EQ(AttentionQueryShift(0), 0);
  EXPECT_EQ(AttentionQueryShift(1), 0);  // a subnormal
  EXPECT_EQ(AttentionQueryShift(0x7F800000), 0);
  EXPECT_EQ(AttentionQueryShift(0x7FC00000), 0);
}

}  // namespace
}  // namespace fg::cuda
