// q6_K of the nibble family: both activation planes, both sources of the weights, every level.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cpu/mmq.h"
#include "kernels/cpu/mmq_reference.h"
#include "kernels/cpu/mmq_tiles.h"
#include "kernels/cpu/mmq_tiles_reference.h"
#include "kernels/cpu/quant_test_data.h"
#include "kernels/cpu/quantize_rows.h"
#include "kernels/cpu/weight_planes.h"

namespace fg {
namespace {

using testing::Activations;
using testing::Bits;
using testing::Gaussian;
using testing::kSentinel;
using testing::RandomBlocks;
using testing::SameValue;
using testing::Sentinel;

constexpr int64_t kMaxRows = 65;
constexpr int64_t kMaxOuts = 257;

struct Case {
  bool tiles;     // the tiled, transposed plane, or the row-major one
  bool expanded;  // the weights' expanded plane, or the raw blocks
  CpuLevel level;
};

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const CpuLevel level : SupportedCpuLevels()) {
    for (const bool tiles : {false, true}) {
      for (const bool expanded : {false, true}) cases.push_back({tiles, expanded, level});
    }
  }
  return cases;
}

std::string NameOf(const Case& c) {
  return std::string(c.tiles ? "tiles" : "rows") + (c.expanded ? "_expanded_" : "_raw_") +
         CpuLevelName(c.level);
}

struct Problem {
  Problem(int64_t values, int64_t total_rows, bool with_bias, uint32_t seed,
          int64_t total_outs = kMaxOuts)
      : k(values),
        rows(total_rows),
        outs(total_outs),
        w(RandomBlocks(TensorType::kQ6_K, outs, k, seed)),
        x(Activations(rows, k, seed + 1)),
        bias(with_bias ? Gaussian(outs, seed + 2) : std::vector<float>()),
        a(static_cast<size_t>(rows * k / 32)),
        expanded(static_cast<size_t>(outs * k / 32)),
        expected(static_cast<size_t>(rows * outs)) {
    QuantizeRows(CpuLevel::kPlain, x.data(), k, rows, k, a.data());
    Prepare();
  }

  // After a change of the weights or the chunks: plane and contract follow.
  void Prepare() {
    BuildExpandedPlane(w.data(), k, {0, outs}, expanded.data());
    MmqContract({TensorType::kQ6_K, w.data(), a.data(), rows, k, Bias(), expected.data(), outs},
                {0, outs});
  }

  const float* Bias() const { return bias.empty() ? nullptr : bias.data(); }

  void Run(const Case& c, int64_t some_rows, Range part, float* y, int64_t ldy,
           KernelFault fault = KernelFault::kNone) const {
    const ExpandedChunkQ6_K* plane = c.expanded ? expanded.data() : nullptr;
    if (!c.tiles) {
      const MmqArgs args = {
          TensorType::kQ6_K, w.data(), a.data(), some_rows, k, Bias(), y, ldy, plane};
      return Mmq(c.level, MmqForm::kNibble, args, part, fault);
    }
    std::vector<ActivationTile> tiles(static_cast<size_t>(TileCount(some_rows) * k / 32));
    TilesFromRows(a.data(), some_rows, k, tiles.data());
    MmqTilesArgs args = {};
    args.type = TensorType::kQ6_K;
    args.w = w.data();
    args.expanded = plane;
    args.a = tiles.data();
    args.rows = some_rows;
    args.k = k;
    args.out_total = outs;
    args.bias = Bias();
    args.y = y;
    args.ldy = ldy;
    MmqTiles(c.level, args, part, fault);
  }

  std::vector<float> All(const Case& c, KernelFault fault = KernelFault::kNone) const {
    std::vector<float> y(expected.size(), Sentinel());
    Run(c, rows, {0, outs}, y.data(), outs, fault);
    return y;
  }

  int64_t k;
  int64_t rows;
  int64_t outs;
  std::vector<uint8_t> w;
  std::vector<float> x;
  std::vector<float> bias;
  std::vector<ActivationChunk> a;
  std::vector<ExpandedChunkQ6_K> expanded;
  std::vector<float> expected;  // [rows][outs]
};

// Compares bits inside `outs`, and that not a word before, between or after is written.
void ExpectContract(const Case& c, const Problem& problem, int64_t rows, Range outs) {
  const int64_t ldy = outs.end + 3;
  std::vector<float> y(static_cast<size_t>((rows + 2) * ldy), Sentinel());
  problem.Run(c, rows, outs, y.data() + ldy, ldy);
  for (int64_t r = -1; r <= rows; ++r) {
    for (int64_t o = 0; o < ldy; ++o) {
      const float got = y[static_cast<size_t>((r + 1) * ldy + o)];
      const bool inside = r >= 0 && r < rows && o >= outs.begin && o < outs.end;
      const uint32_t want =
          inside ? Bits(problem.expected[static_cast<size_t>(r * problem.outs + o)]) : kSentinel;
      ASSERT_EQ(Bits(got), want) << got << " at row " << r << " of " << rows << ", out " << o
                                 << " of " << outs.begin << " to " << outs.end << ", k "
                                 << problem.k;
    }
  }
}

class MmqQ6KTest : public ::testing::TestWithParam<Case> {};

TEST_P(MmqQ6KTest, EqualsTheContractBitForBit) {
  for (const int64_t k : {256, 768}) {
    const Problem problem(k, kMaxRows, k == 768, static_cast<uint32_t>(k));
    for (const float value : problem.expected) ASSERT_TRUE(std::isfinite(value));
    for (const int64_t rows : {1, 2, 15, 16, 17, 33, 64, 65}) {
      for (const int64_t outs : {1, 2, 3, 255, 257}) {
        ExpectContract(GetParam(), problem, rows, {0, outs});
      }
      ASSERT_FALSE(HasFatalFailure());
    }
  }
}

TEST_P(MmqQ6KTest, PartsOfTheOutputs) {
  const Problem problem(512, 33, true, 11);
  for (const Range outs : {Range{1, 2}, Range{3, 11}, Range{5, 255}, Range{250, 257}, Range{16, 32},
                           Range{15, 33}, Range{100, 100}}) {
    ExpectContract(GetParam(), problem, 33, outs);
  }
}

// Wide and tall: blocks of rows and of super-blocks go on where the last one ended.
TEST_P(MmqQ6KTest, ManyRowsAndALongRow) {
  const Problem tall(256, 530, true, 12, 37);
  for (const int64_t rows : {127, 128, 129, 257, 530}) {
    ExpectContract(GetParam(), tall, rows, {2, 37});
  }
  const Problem wide(4864, 17, false, 13, 19);
  ExpectContract(GetParam(), wide, 17, {0, 19});
}

// Extremes of every code: no sum may saturate on its way.
TEST_P(MmqQ6KTest, LargestSums) {
  Problem problem(512, 18, false, 5, 19);
  const uint16_t one = 0x3C00;
  for (const int fill : {0x00, 0xFF, 0x80, 0x7F}) {
    std::fill(problem.w.begin(), problem.w.end(), static_cast<uint8_t>(fill));
    for (size_t at = 208; at < problem.w.size(); at += 210) {
      std::memcpy(problem.w.data() + at, &one, sizeof(one));
    }
    for (const int sign : {1, -1}) {
      for (ActivationChunk& chunk : problem.a) {
        std::fill(chunk.q, chunk.q + 32, static_cast<int8_t>(127 * sign));
        chunk.sum[0] = chunk.sum[1] = static_cast<int16_t>(16 * 127 * sign);
        chunk.d = 1;
      }
      problem.Prepare();
      ExpectContract(GetParam(), problem, 18, {0, 19});
    }
  }
}

TEST_P(MmqQ6KTest, NanReachesItsRowAlone) {
  Problem problem(512, 33, true, 21);
  const std::vector<float> healthy = problem.expected;
  problem.x[2 * 512 + 300] = std::numeric_limits<float>::quiet_NaN();
  problem.x[20 * 512 + 5] = std::numeric_limits<float>::infinity();
  QuantizeRows(CpuLevel::kPlain, problem.x.data(), 512, 33, 512, problem.a.data());
  const std::vector<float> y = problem.All(GetParam());
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t row = i / kMaxOuts;
    if (row == 2 || row == 20) {
      ASSERT_TRUE(std::isnan(y[i])) << "row " << row << " out " << i % kMaxOuts;
    } else {
      ASSERT_EQ(Bits(y[i]), Bits(healthy[i])) << "row " << row << " out " << i % kMaxOuts;
    }
  }
}

// An infinite or NaN d: which NaN comes out is free, whether one does is not.
TEST_P(MmqQ6KTest, WeightsThatAreNotFinite) {
  Problem problem(256, 17, true, 23);
  const uint16_t infinite = 0x7C00, nan = 0x7E00;
  std::memcpy(problem.w.data() + 3 * 210 + 208, &infinite, 2);
  std::memcpy(problem.w.data() + 5 * 210 + 208, &nan, 2);
  problem.Prepare();
  const std::vector<float> y = problem.All(GetParam());
  for (size_t i = 0; i < y.size(); ++i) {
    ASSERT_TRUE(SameValue(y[i], problem.expected[i])) << y[i] << " for " << problem.expected[i];
    ASSERT_EQ(std::isfinite(y[i]), i % kMaxOuts != 3 && i % kMaxOuts != 5) << i % kMaxOuts;
  }
}

void ExpectSameBits(const std::vector<float>& got, const std::vector<float>& want) {
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(Bits(got[i]), Bits(want[i])) << i;
}

// The same bits come out of the contract when the weights are damaged as the name says.
TEST_P(MmqQ6KTest, FaultsDoWhatTheirNamesSay) {
  const Problem problem(512, 17, true, 42);
  const auto damaged = [&](void (*damage)(BlockQ6_K*)) {
    Problem other = problem;
    auto* blocks = reinterpret_cast<BlockQ6_K*>(other.w.data());
    for (int64_t b = 0; b < 2 * kMaxOuts; ++b) damage(blocks + b);
    other.Prepare();
    return other.expected;
  };
  const std::vector<float> swapped = damaged([](BlockQ6_K* block) {
    for (int i = 0; i < 16; i += 2) std::swap(block->scales[i], block->scales[i + 1]);
  });
  const std::vector<float> coarse = damaged([](BlockQ6_K* block) {
    for (uint8_t& ql : block->ql) ql &= 0xCC;
  });
  ASSERT_NE(swapped, problem.expected);
  ASSERT_NE(coarse, problem.expected);
  ExpectSameBits(problem.All(GetParam(), KernelFault::kCoarseQ6K), coarse);
  // A plane carries the scales as its builder laid them: the fault is then the builder's.
  ExpectSameBits(problem.All(GetParam(), KernelFault::kSwapHalfScales),
                 GetParam().expanded ? problem.expected : swapped);
  for (const KernelFault other : {KernelFault::kSwapNibbles, KernelFault::kDropMin,
                                  KernelFault::kChunkOffPlane, KernelFault::kCoarseQuant}) {
    ExpectSameBits(problem.All(GetParam(), other), problem.expected);
  }
}

// The kernels read the plane and nothing else: with it, the blocks may be anything.
TEST_P(MmqQ6KTest, WhatThePlaneHoldsIsWhatCounts) {
  Problem problem(256, 17, false, 51);
  std::fill(problem.w.begin(), problem.w.end(), static_cast<uint8_t>(0x7F));
  const std::vector<float> y = problem.All(GetParam());
  if (GetParam().expanded) {
    ExpectSameBits(y, problem.expected);
  } else {
    EXPECT_NE(Bits(y[0]), Bits(problem.expected[0]));
  }
}

INSTANTIATE_TEST_SUITE_P(All, MmqQ6KTest, ::testing::ValuesIn(AllCases()),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace fg
