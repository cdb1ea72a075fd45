#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <vector>

#include "kernels/cpu/quant_test_data.h"
#include "kernels/cpu/weight_planes.h"
#include "kernels/formats/dequantize.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

constexpr int64_t kK = 512;
constexpr int64_t kOuts = 9;
constexpr int64_t kChunks = kK / 32;

struct Planes {
  Planes() : w(testing::RandomBlocks(TensorType::kQ6_K, kOuts, kK, 7)), bytes((kOuts + 2) * kRow) {
    std::memset(bytes.data(), 0xA5, bytes.size());
  }
  static constexpr size_t kRow = kChunks * sizeof(ExpandedChunkQ6_K);

  ExpandedChunkQ6_K* plane() { return reinterpret_cast<ExpandedChunkQ6_K*>(bytes.data() + kRow); }

  std::vector<uint8_t> w;
  std::vector<uint8_t> bytes;  // a row of guard, the plane, a row of guard
};

TEST(BuildExpandedPlane, HoldsEveryValueExactly) {
  Planes p;
  BuildExpandedPlane(p.w.data(), kK, {0, kOuts}, p.plane());
  ASSERT_EQ(ExpandedPlaneBytes(kK, kOuts), static_cast<uint64_t>(kOuts) * Planes::kRow);
  for (int64_t o = 0; o < kOuts; ++o) {
    std::vector<double> exact(kK);
    const void* row = p.w.data() + o * RowBytes(TensorType::kQ6_K, kK);
    ASSERT_TRUE(DequantizeRowExact(TensorType::kQ6_K, row, kK, exact.data()));
    for (int64_t i = 0; i < kK; ++i) {
      const ExpandedChunkQ6_K& chunk = p.plane()[o * kChunks + i / 32];
      const int64_t v = i % 32;
      EXPECT_GE(chunk.q[v], -32);
      EXPECT_LE(chunk.q[v], 31);
      EXPECT_EQ(double{chunk.d} * chunk.sc[v / 16] * chunk.q[v], exact[static_cast<size_t>(i)]);
      EXPECT_EQ(chunk.zero[0], 0);
      EXPECT_EQ(chunk.zero[1], 0);
    }
  }
}

// d * sc * q is the same for some wrong splits; the fields themselves are pinned.
TEST(BuildExpandedPlane, Fields) {
  Planes p;
  BuildExpandedPlane(p.w.data(), kK, {0, kOuts}, p.plane());
  const auto* blocks = reinterpret_cast<const BlockQ6_K*>(p.w.data());
  for (int64_t at = 0; at < kOuts * kChunks; ++at) {
    const BlockQ6_K& block = blocks[at / 8];
    EXPECT_EQ(std::bit_cast<uint32_t>(p.plane()[at].d), std::bit_cast<uint32_t>(F16ToF32(block.d)));
    EXPECT_EQ(p.plane()[at].sc[0], block.scales[at % 8 * 2]);
    EXPECT_EQ(p.plane()[at].sc[1], block.scales[at % 8 * 2 + 1]);
  }
}

TEST(BuildExpandedPlane, WritesItsOutputsAlone) {
  Planes all, parts;
  BuildExpandedPlane(all.w.data(), kK, {0, kOuts}, all.plane());
  BuildExpandedPlane(parts.w.data(), kK, {3, 5}, parts.plane());
  for (size_t i = 0; i < all.bytes.size(); ++i) {
    const size_t row = i / Planes::kRow;
    const bool written = row == 4 || row == 5;  // rows 3 and 4 behind the guard
    ASSERT_EQ(parts.bytes[i], written ? all.bytes[i] : 0xA5) << i;
    if (row == 0 || row == kOuts + 1) {
      ASSERT_EQ(all.bytes[i], 0xA5) << i;
    }
  }
}

TEST(BuildExpandedPlane, SwappedScalesAreSwappedAndNothingElse) {
  Planes healthy, wrong;
  BuildExpandedPlane(healthy.w.data(), kK, {0, kOuts}, healthy.plane());
  BuildExpandedPlane(wrong.w.data(), kK, {0, kOuts}, wrong.plane(), KernelFault::kSwapHalfScales);
  EXPECT_NE(healthy.bytes, wrong.bytes);
  for (int64_t at = 0; at < kOuts * kChunks; ++at) {
    std::swap(wrong.plane()[at].sc[0], wrong.plane()[at].sc[1]);
  }
  EXPECT_EQ(healthy.bytes, wrong.bytes);
  for (const KernelFault other : {KernelFault::kCoarseQ6K, KernelFault::kRoundedScales}) {
    Planes same;
    BuildExpandedPlane(same.w.data(), kK, {0, kOuts}, same.plane(), other);
    EXPECT_EQ(healthy.bytes, same.bytes);
  }
}

}  // namespace
}  // namespace fg
