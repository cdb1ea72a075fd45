#include "kernels/cuda/matvec_order.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/cpu/quant_test_data.h"
#include "kernels/cpu/weight_chunk.h"

namespace fg::cuda {
namespace {

constexpr TensorType kQuantized[] = {TensorType::kQ4_0, TensorType::kQ5_0, TensorType::kQ8_0,
                                     TensorType::kQ4_K, TensorType::kQ6_K};
constexpr TensorType kFloats[] = {TensorType::kF32, TensorType::kF16, TensorType::kBF16};

std::vector<int> ChunkCounts(TensorType type) {
  if (IsSuperBlockType(type)) return {8, 16, 24, 112, 592};
  return {1, 2, 9, 10, 15, 16, 17, 28, 112, 142, 592};
}

TEST(MatvecOrder, EveryChunkOnceAndAscendingPerLane) {
  for (const TensorType type : kQuantized) {
    for (const int n : ChunkCounts(type)) {
      std::vector<int> times(static_cast<size_t>(n), 0);
      std::vector<int> last(kMatvecLanes, -1);
      for (int slot = 0; slot < n; ++slot) {
        const int chunk = ChunkOfSlot(type, slot);
        ASSERT_TRUE(chunk >= 0 && chunk < n) << InfoOf(type).name << " slot " << slot;
        ++times[static_cast<size_t>(chunk)];
        ASSERT_EQ(SlotOfChunk(type, chunk), slot);
        const int lane = LaneOfChunk(type, chunk);
        ASSERT_EQ(lane, slot % kMatvecLanes);
        ASSERT_LT(last[static_cast<size_t>(lane)], chunk) << InfoOf(type).name;
        last[static_cast<size_t>(lane)] = chunk;
      }
      for (const int count : times) ASSERT_EQ(count, 1) << InfoOf(type).name << " n " << n;
    }
  }
}

TEST(MatvecOrder, EveryHalfChunkIsLoadedOnce) {
  for (const TensorType type : kQuantized) {
    for (const int n : ChunkCounts(type)) {
      std::vector<int> times(static_cast<size_t>(2 * n), 0);
      for (int slot = 0; slot < n; ++slot) {
        for (const HalfChunk half : {LowHalf(type, slot), HighHalf(type, slot)}) {
          ASSERT_TRUE(half.chunk >= 0 && half.chunk < n && (half.half == 0 || half.half == 1));
          ++times[static_cast<size_t>(2 * half.chunk + half.half)];
        }
      }
      for (const int count : times) ASSERT_EQ(count, 1) << InfoOf(type).name << " n " << n;
    }
  }
}

TEST(MatvecOrder, AKeptChunkLiesInItsSlotAndTheNeighbour) {
  for (const TensorType type : kQuantized) {
    for (int slot = 0; slot < 592; ++slot) {
      const int kept = ChunkOfSlot(type, slot);
      if (!IsSuperBlockType(type)) {
        ASSERT_EQ(LowHalf(type, slot).chunk, kept);
        ASSERT_EQ(HighHalf(type, slot).chunk, kept);
        continue;
      }
      const auto half = [&](int s) { return slot % 2 == 0 ? LowHalf(type, s) : HighHalf(type, s); };
      ASSERT_EQ(half(slot).chunk, kept);
      ASSERT_EQ(half(slot ^ 1).chunk, kept);
      ASSERT_NE(half(slot).half, half(slot ^ 1).half);
    }
  }
}

// The 16 codes of a half chunk, as the CPU decodes them.
template <class Chunks>
std::vector<int> Codes(const typename Chunks::Block& block, HalfChunk at, int offset) {
  WeightChunk chunk;
  Chunks::Decode(block, at.chunk % Chunks::kChunks, &chunk);
  std::vector<int> codes;
  for (int i = 0; i < 16; ++i) codes.push_back(chunk.q[16 * at.half + i] + offset);
  return codes;
}

// Slot j of a super-block reads the 16 bytes at 16*j of its nibbles.
TEST(MatvecOrder, HalvesAreTheNibblesOfTheSlotsPieceOfQ4_K) {
  const std::vector<uint8_t> bytes = testing::RandomBlocks(TensorType::kQ4_K, 1, 256, 5);
  BlockQ4_K block;
  std::memcpy(&block, bytes.data(), sizeof(block));
  for (int slot = 0; slot < 8; ++slot) {
    const auto low = Codes<ChunksOfQ4_K>(block, LowHalf(TensorType::kQ4_K, slot), 0);
    const auto high = Codes<ChunksOfQ4_K>(block, HighHalf(TensorType::kQ4_K, slot), 0);
    for (int i = 0; i < 16; ++i) {
      ASSERT_EQ(block.q[16 * slot + i] & 15, low[static_cast<size_t>(i)]);
      ASSERT_EQ(block.q[16 * slot + i] >> 4, high[static_cast<size_t>(i)]);
    }
  }
}

// And of q6_K also the 16 bytes of qh at 32*(j/4) + 16*(j%2), two bits from 2*((j/2)%2) on for the
// low half, from four further on for the high one; scales 8*(j/4) + j%4, and four further on.
TEST(MatvecOrder, HalvesAreTheNibblesOfTheSlotsPieceOfQ6_K) {
  const std::vector<uint8_t> bytes = testing::RandomBlocks(TensorType::kQ6_K, 1, 256, 6);
  BlockQ6_K block;
  std::memcpy(&block, bytes.data(), sizeof(block));
  for (int slot = 0; slot < 8; ++slot) {
    const HalfChunk low_half = LowHalf(TensorType::kQ6_K, slot);
    const HalfChunk high_half = HighHalf(TensorType::kQ6_K, slot);
    const auto low = Codes<ChunksOfQ6_K>(block, low_half, 32);
    const auto high = Codes<ChunksOfQ6_K>(block, high_half, 32);
    const int shift = 2 * (slot / 2 % 2);
    for (int i = 0; i < 16; ++i) {
      const int ql = block.ql[16 * slot + i];
      const int qh = block.qh[32 * (slot / 4) + 16 * (slot % 2) + i] >> shift;
      ASSERT_EQ((ql & 15) | (qh & 3) << 4, low[static_cast<size_t>(i)]) << slot;
      ASSERT_EQ((ql >> 4) | ((qh >> 4) & 3) << 4, high[static_cast<size_t>(i)]) << slot;
    }
    ASSERT_EQ(2 * low_half.chunk + low_half.half, 8 * (slot / 4) + slot % 4);
    ASSERT_EQ(2 * high_half.chunk + high_half.half, 8 * (slot / 4) + slot % 4 + 4);
  }
}

TEST(MatvecOrder, EveryGroupOfAFloatTypeHasOneLane) {
  for (const TensorType type : kFloats) {
    const int group = FloatGroup(type);
    for (int64_t value = 0; value < 5000; ++value) {
      ASSERT_EQ(LaneOfValue(type, value), (value / group) % 32);
    }
    ASSERT_EQ(LaneOfValue(type, group - 1), 0);
    ASSERT_EQ(LaneOfValue(type, group), 1);
    ASSERT_EQ(LaneOfValue(type, int64_t{32} * group), 0);
  }
}

}  // namespace
}  // namespace fg::cuda
