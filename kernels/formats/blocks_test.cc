#include "kernels/formats/blocks.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace fg {
namespace {

TEST(Blocks, OffsetsOfTheFileFormat) {
  EXPECT_EQ(offsetof(BlockQ4_0, q), 2u);
  EXPECT_EQ(offsetof(BlockQ5_0, h), 2u);
  EXPECT_EQ(offsetof(BlockQ5_0, q), 6u);
  EXPECT_EQ(offsetof(BlockQ8_0, q), 2u);
  EXPECT_EQ(offsetof(BlockQ4_K, dmin), 2u);
  EXPECT_EQ(offsetof(BlockQ4_K, s), 4u);
  EXPECT_EQ(offsetof(BlockQ4_K, q), 16u);
  EXPECT_EQ(offsetof(BlockQ6_K, qh), 128u);
  EXPECT_EQ(offsetof(BlockQ6_K, scales), 192u);
  EXPECT_EQ(offsetof(BlockQ6_K, d), 208u);
  EXPECT_EQ(offsetof(ActivationChunk, d), 32u);
  EXPECT_EQ(offsetof(ActivationChunk, sum), 36u);
}

// One bit of the file at a time: it belongs to one value alone, with the weight it must have.
TEST(Blocks, EachBitOfQ5_0ByHand) {
  for (int bit = 0; bit < 160; ++bit) {
    BlockQ5_0 block = {};
    const int byte = bit / 8;
    (byte < 4 ? block.h[byte] : block.q[byte - 4]) = static_cast<uint8_t>(1 << bit % 8);
    const int nibble = bit - 32;  // of q, where not negative
    const int owner = bit < 32 ? bit : nibble / 8 + (nibble % 8 < 4 ? 0 : 16);
    for (int i = 0; i < 32; ++i) {
      const int want = i != owner ? 0 : bit < 32 ? 16 : 1 << nibble % 4;
      ASSERT_EQ(CodeOfQ5_0(block, i), want) << "bit " << bit << " value " << i;
    }
  }
}

// Twelve bytes written out by hand: sub-blocks 0-3 in the low six bits of s[0..7], 4-7 in the
// nibbles of s[8..11] with their upper two bits on top of the others.
TEST(Blocks, UnpacksByHand) {
  const uint8_t s[12] = {0b10'000001, 0b01'111111, 0b00'101010, 0b11'000000,   // scales 0-3
                         0b11'000010, 0b00'111110, 0b01'010101, 0b10'000011,   // mins 0-3
                         0b0101'0001, 0b1111'0000, 0b0000'1111, 0b1010'0110};  // scales, mins 4-7
  const int scales[8] = {1, 63, 42, 0, 0b10'0001, 0b01'0000, 0b00'1111, 0b11'0110};
  const int mins[8] = {2, 62, 21, 3, 0b11'0101, 0b00'1111, 0b01'0000, 0b10'1010};
  for (int j = 0; j < 8; ++j) {
    EXPECT_EQ(UnpackScaleMin(s, j).scale, scales[j]) << j;
    EXPECT_EQ(UnpackScaleMin(s, j).min, mins[j]) << j;
  }
}

// Every pair in every sub-block, with the other sub-blocks at all ones and at all zeros.
TEST(Blocks, PackingIsTheInverse) {
  for (int j = 0; j < 8; ++j) {
    for (int pair = 0; pair < 64 * 64; ++pair) {
      for (const uint8_t other : {uint8_t{0}, uint8_t{63}}) {
        uint8_t s[12] = {};
        const ScaleMin want = {static_cast<uint8_t>(pair % 64), static_cast<uint8_t>(pair / 64)};
        for (int i = 0; i < 8; ++i) PackScaleMin(i == j ? want : ScaleMin{other, other}, i, s);
        for (int i = 0; i < 8; ++i) {
          const ScaleMin got = UnpackScaleMin(s, i);
          ASSERT_EQ(got.scale, i == j ? want.scale : other) << "sub-block " << i << " of " << j;
          ASSERT_EQ(got.min, i == j ? want.min : other) << "sub-block " << i << " of " << j;
        }
      }
    }
  }
}

}  // namespace
}  // namespace fg
