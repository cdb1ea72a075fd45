#include "kernels/cpu/weight_planes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/cpu/quant_test_data.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

using testing::Bits;
using testing::kSentinel;
using testing::RandomBlocks;
using testing::Sentinel;

std::vector<ScalePair> Sentinels(int64_t k, int64_t out) {
  return std::vector<ScalePair>(ScalePlaneBytes(k, out) / sizeof(ScalePair),
                                {Sentinel(), Sentinel()});
}

// d * sc and -dmin * m in double, where the products are exact; the unpacking of docs/gguf.md.
ScalePair Exact(const BlockQ4_K& block, int j) {
  const uint8_t* s = block.s;
  const int sc = j < 4 ? s[j] & 63 : (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
  const int m = j < 4 ? s[j + 4] & 63 : s[j + 4] >> 4 | (s[j] >> 6) << 4;
  const double ws = double{F16ToF32(block.d)} * sc, wm = -double{F16ToF32(block.dmin)} * m;
  const ScalePair pair = {static_cast<float>(ws), static_cast<float>(wm)};
  EXPECT_EQ(double{pair.ws}, ws) << "a pair that f32 does not hold exactly";
  EXPECT_EQ(double{pair.wm}, wm) << "a pair that f32 does not hold exactly";
  return pair;
}

TEST(ScalePlane, HoldsTheExactProducts) {
  const int64_t k = 768, out = 37;
  std::vector<uint8_t> w = RandomBlocks(TensorType::kQ4_K, out, k, 3);
  // Every kind of half: subnormal, largest, smallest, zero of both signs.
  const uint16_t halves[] = {0x0001, 0x7BFF, 0x8001, 0xFBFF, 0x0000, 0x8000, 0x03FF, 0x0400};
  for (size_t i = 0; i < std::size(halves); ++i) {
    std::memcpy(w.data() + i * 144, &halves[i], 2);
    std::memcpy(w.data() + i * 144 + 2, &halves[std::size(halves) - 1 - i], 2);
  }
  std::vector<ScalePair> plane = Sentinels(k, out);
  BuildScalePlane(w.data(), k, out, {0, out}, plane.data());
  const auto* blocks = reinterpret_cast<const BlockQ4_K*>(w.data());
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t c = 0; c < k / 32; ++c) {
      const ScalePair want = Exact(blocks[o * (k / 256) + c / 8], static_cast<int>(c % 8));
      const ScalePair got = plane[static_cast<size_t>(c * out + o)];
      ASSERT_EQ(Bits(got.ws), Bits(want.ws)) << "out " << o << " chunk " << c;
      ASSERT_EQ(Bits(got.wm), Bits(want.wm)) << "out " << o << " chunk " << c;
    }
  }
}

TEST(ScalePlane, WritesItsOutputsAlone) {
  const int64_t k = 512, out = 11;
  const std::vector<uint8_t> w = RandomBlocks(TensorType::kQ4_K, out, k, 4);
  std::vector<ScalePair> whole = Sentinels(k, out);
  BuildScalePlane(w.data(), k, out, {0, out}, whole.data());
  for (const Range outs : {Range{0, 1}, Range{3, 7}, Range{10, 11}, Range{5, 5}}) {
    std::vector<ScalePair> plane = Sentinels(k, out);
    BuildScalePlane(w.data(), k, out, outs, plane.data());
    for (size_t at = 0; at < plane.size(); ++at) {
      const int64_t o = static_cast<int64_t>(at) % out;
      const bool inside = o >= outs.begin && o < outs.end;
      ASSERT_EQ(Bits(plane[at].ws), inside ? Bits(whole[at].ws) : kSentinel) << at;
      ASSERT_EQ(Bits(plane[at].wm), inside ? Bits(whole[at].wm) : kSentinel) << at;
    }
  }
}

TEST(ScalePlane, RoundedScalesAreHalves) {
  const int64_t k = 256, out = 64;
  const std::vector<uint8_t> w = RandomBlocks(TensorType::kQ4_K, out, k, 5);
  std::vector<ScalePair> healthy = Sentinels(k, out), rounded = Sentinels(k, out);
  BuildScalePlane(w.data(), k, out, {0, out}, healthy.data());
  BuildScalePlane(w.data(), k, out, {0, out}, rounded.data(), KernelFault::kRoundedScales);
  size_t off = 0;
  for (size_t at = 0; at < healthy.size(); ++at) {
    ASSERT_EQ(rounded[at].ws, F16ToF32(F32ToF16(healthy[at].ws))) << at;
    ASSERT_EQ(rounded[at].wm, F16ToF32(F32ToF16(healthy[at].wm))) << at;
    ASSERT_NEAR(rounded[at].ws, healthy[at].ws, std::fabs(healthy[at].ws) / 1024 + 1e-7);
    off += Bits(rounded[at].ws) != Bits(healthy[at].ws);
  }
  EXPECT_GT(off, healthy.size() / 2);
}

}  // namespace
}  // namespace fg
