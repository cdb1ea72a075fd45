#include "kernels/cpu/mmq_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cpu/mmq.h"
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

constexpr int64_t kMaxRows = 145;  // a row block of every size, and a tail
constexpr int64_t kMaxOuts = 257;

struct Case {
  CpuLevel level;
  bool plane;  // the scale plane, or decoding in the kernel
};

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const CpuLevel level : SupportedCpuLevels()) {
    for (const bool plane : {false, true}) cases.push_back({level, plane});
  }
  return cases;
}

std::string NameOf(const Case& c) {
  return std::string(CpuLevelName(c.level)) + (c.plane ? "_scale_plane" : "_decoded");
}

// q4_K weights, activations in both layouts, and the contract's answer for all of them.
struct Problem {
  Problem(int64_t values, bool with_bias, uint32_t seed)
      : k(values),
        w(RandomBlocks(TensorType::kQ4_K, kMaxOuts, k, seed)),
        x(Activations(kMaxRows, k, seed + 1)),
        scales(ScalePlaneBytes(k, kMaxOuts) / sizeof(ScalePair)),
        bias(Gaussian(kMaxOuts, seed + 2)),
        expected(static_cast<size_t>(kMaxRows * kMaxOuts)),
        biased(with_bias) {
    Quantize();
    Weights();
  }

  void Quantize() {
    rows.resize(static_cast<size_t>(kMaxRows * k / 32));
    QuantizeRows(CpuLevel::kPlain, x.data(), k, kMaxRows, k, rows.data());
  }

  // The plane and the answer of the weights as they are now.
  void Weights() {
    BuildScalePlane(w.data(), k, kMaxOuts, {0, kMaxOuts}, scales.data());
    const std::vector<ActivationTile> a = Tiles(kMaxRows);
    MmqTilesContract(Args(false, a, kMaxRows, expected.data(), kMaxOuts), {0, kMaxOuts});
  }

  // The first `count` rows as tiles, zeros behind them.
  std::vector<ActivationTile> Tiles(int64_t count) const {
    std::vector<ActivationTile> tiles(static_cast<size_t>(TileCount(count) * (k / 32)));
    TilesFromRows(rows.data(), count, k, tiles.data());
    return tiles;
  }

  MmqTilesArgs Args(bool plane, const std::vector<ActivationTile>& a, int64_t count, float* y,
                    int64_t ldy) const {
    return {.type = TensorType::kQ4_K,
            .w = w.data(),
            .scales = plane ? scales.data() : nullptr,
            .a = a.data(),
            .rows = count,
            .k = k,
            .out_total = kMaxOuts,
            .bias = biased ? bias.data() : nullptr,
            .y = y,
            .ldy = ldy};
  }

  std::vector<float> Run(const Case& c, KernelFault fault = KernelFault::kNone) const {
    const std::vector<ActivationTile> a = Tiles(kMaxRows);
    std::vector<float> y(static_cast<size_t>(kMaxRows * kMaxOuts), Sentinel());
    MmqTiles(c.level, Args(c.plane, a, kMaxRows, y.data(), kMaxOuts), {0, kMaxOuts}, fault);
    return y;
  }

  int64_t k;
  std::vector<uint8_t> w;
  std::vector<float> x;
  std::vector<ActivationChunk> rows;
  std::vector<ScalePair> scales;
  std::vector<float> bias;
  std::vector<float> expected;  // [kMaxRows][kMaxOuts]
  bool biased;
};

// Runs `rows` rows and compares bits inside `outs`, and that not a word outside is written.
void ExpectContract(const Case& c, const Problem& problem, int64_t rows, Range outs) {
  const int64_t ldy = outs.end + 3;
  const std::vector<ActivationTile> a = problem.Tiles(rows);
  std::vector<float> y(static_cast<size_t>((rows + 1) * ldy), Sentinel());
  MmqTiles(c.level, problem.Args(c.plane, a, rows, y.data(), ldy), outs);
  for (int64_t r = 0; r <= rows; ++r) {
    for (int64_t o = 0; o < ldy; ++o) {
      const float got = y[static_cast<size_t>(r * ldy + o)];
      if (r < rows && o >= outs.begin && o < outs.end) {
        const float want = problem.expected[static_cast<size_t>(r * kMaxOuts + o)];
        ASSERT_TRUE(std::isfinite(want));
        ASSERT_EQ(Bits(got), Bits(want)) << got << " for " << want << " at row " << r << " out "
                                         << o << ", rows " << rows << ", k " << problem.k;
      } else {
        ASSERT_EQ(Bits(got), kSentinel) << "written outside at row " << r << " out " << o
                                        << ", range " << outs.begin << " to " << outs.end;
      }
    }
  }
}

class MmqTilesTest : public ::testing::TestWithParam<Case> {};

TEST_P(MmqTilesTest, EqualsTheContractBitForBit) {
  for (const int64_t k : {256, 768}) {
    const Problem problem(k, k != 256, static_cast<uint32_t>(k));
    for (const int64_t rows : {1, 2, 15, 16, 17, 31, 33, 64, 65, 100, 145}) {
      for (const int64_t outs : {1, 2, 3, 7, 255, 257}) {
        if (rows > 65 && outs == 255) continue;
        ExpectContract(GetParam(), problem, rows, {0, outs});
        ASSERT_FALSE(HasFatalFailure());
      }
    }
  }
}

TEST_P(MmqTilesTest, PartsOfTheOutputs) {
  const Problem problem(512, true, 11);
  for (const Range outs : {Range{1, 2}, Range{3, 11}, Range{5, 255}, Range{250, 257}, Range{8, 16},
                           Range{64, 130}, Range{100, 100}}) {
    ExpectContract(GetParam(), problem, 33, outs);
    ASSERT_FALSE(HasFatalFailure());
  }
}

// More outputs than share a block's sums: the next block starts anew.
TEST_P(MmqTilesTest, ManyOutputs) {
  const int64_t k = 256, rows = 18, outs = 1003;
  const std::vector<uint8_t> w = RandomBlocks(TensorType::kQ4_K, outs, k, 51);
  const std::vector<float> x = Activations(rows, k, 52), bias = Gaussian(outs, 53);
  std::vector<ActivationChunk> chunks(static_cast<size_t>(rows * k / 32));
  QuantizeRows(CpuLevel::kPlain, x.data(), k, rows, k, chunks.data());
  std::vector<ActivationTile> a(static_cast<size_t>(TileCount(rows) * k / 32));
  TilesFromRows(chunks.data(), rows, k, a.data());
  std::vector<ScalePair> scales(ScalePlaneBytes(k, outs) / sizeof(ScalePair));
  BuildScalePlane(w.data(), k, outs, {0, outs}, scales.data());
  std::vector<float> expected(static_cast<size_t>(rows * outs)), y(expected.size(), Sentinel());
  MmqTilesArgs args = {.type = TensorType::kQ4_K,
                       .w = w.data(),
                       .scales = GetParam().plane ? scales.data() : nullptr,
                       .a = a.data(),
                       .rows = rows,
                       .k = k,
                       .out_total = outs,
                       .bias = bias.data(),
                       .y = expected.data(),
                       .ldy = outs};
  MmqTilesContract(args, {0, outs});
  args.y = y.data();
  MmqTiles(GetParam().level, args, {5, outs});
  for (size_t i = 0; i < y.size(); ++i) {
    const bool asked = i % outs >= 5;
    ASSERT_EQ(Bits(y[i]), asked ? Bits(expected[i]) : kSentinel) << i / outs << " " << i % outs;
  }
}

// The same bits as the nibble form on the row-major plane, at the same level.
TEST_P(MmqTilesTest, EqualsTheNibbleFormOfRowMajorActivations) {
  const Problem problem(1536, true, 13);
  std::vector<float> native(problem.expected.size());
  const MmqArgs args = {TensorType::kQ4_K, problem.w.data(),    problem.rows.data(), kMaxRows,
                        problem.k,         problem.bias.data(), native.data(),       kMaxOuts};
  Mmq(GetParam().level, MmqForm::kNibble, args, {0, kMaxOuts});
  const std::vector<float> y = problem.Run(GetParam());
  for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(Bits(y[i]), Bits(native[i])) << i;
}

// Extremes of every code: the integer sums must not saturate on their way.
TEST_P(MmqTilesTest, LargestSums) {
  Problem problem(512, false, 5);
  for (const int fill : {0x00, 0xFF, 0xF0, 0x0F, 0x7F}) {
    std::fill(problem.w.begin(), problem.w.end(), static_cast<uint8_t>(fill));
    const uint16_t halves[2] = {0x3C00, 0x3C00};
    for (size_t at = 0; at < problem.w.size(); at += 144) {
      std::memcpy(problem.w.data() + at, halves, 4);
    }
    for (const int sign : {1, -1}) {
      for (ActivationChunk& chunk : problem.rows) {
        std::fill(chunk.q, chunk.q + 32, static_cast<int8_t>(127 * sign));
        chunk.sum[0] = chunk.sum[1] = static_cast<int16_t>(16 * 127 * sign);
        chunk.d = 1;
      }
      problem.Weights();
      ExpectContract(GetParam(), problem, 17, {0, 9});
    }
  }
}

// Scales at the ends of f32: where a product is subnormal or infinite, no rearrangement is exact.
TEST_P(MmqTilesTest, ActivationsOfEveryMagnitude) {
  Problem problem(256, false, 6);
  const uint16_t tiny_half = 0x0001;
  for (size_t o = 0; o < 9; o += 2) std::memcpy(problem.w.data() + o * 144, &tiny_half, 2);
  for (int exponent = -108; exponent <= 121; exponent += exponent < -90 || exponent > 90 ? 1 : 9) {
    for (size_t at = 0; at < problem.rows.size(); ++at) {
      problem.rows[at].d = std::ldexp(1.0f + static_cast<float>(at % 7) / 8, exponent);
      if (at % 5 == 0) problem.rows[at].d = at % 2 == 0 ? 1.0f : 0.0f;
    }
    problem.Weights();
    const std::vector<ActivationTile> a = problem.Tiles(33);
    std::vector<float> y(33 * 9);
    MmqTiles(GetParam().level, problem.Args(GetParam().plane, a, 33, y.data(), 9), {0, 9});
    for (size_t i = 0; i < y.size(); ++i) {
      const float want = problem.expected[i / 9 * kMaxOuts + i % 9];
      ASSERT_TRUE(SameValue(y[i], want)) << y[i] << " for " << want << " exponent " << exponent;
    }
  }
}

TEST_P(MmqTilesTest, NanReachesItsRowAlone) {
  Problem problem(512, true, 21);
  const std::vector<float> healthy = problem.expected;
  problem.x[2 * 512 + 300] = std::numeric_limits<float>::quiet_NaN();
  problem.x[140 * 512 + 5] = std::numeric_limits<float>::infinity();
  problem.Quantize();
  const std::vector<float> y = problem.Run(GetParam());
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t row = i / kMaxOuts;
    if (row == 2 || row == 140) {
      ASSERT_TRUE(std::isnan(y[i])) << "row " << row << " out " << i % kMaxOuts;
    } else {
      ASSERT_EQ(Bits(y[i]), Bits(healthy[i])) << "row " << row << " out " << i % kMaxOuts;
    }
  }
}

// An infinite or NaN scale in the weights: which NaN comes out is free, whether one does is not.
TEST_P(MmqTilesTest, WeightsThatAreNotFinite) {
  Problem problem(256, true, 23);
  const uint16_t infinite = 0x7C00, nan = 0x7E00;
  std::memcpy(problem.w.data() + 3 * 144, &infinite, 2);
  std::memcpy(problem.w.data() + 5 * 144, &nan, 2);
  problem.Weights();
  const std::vector<float> y = problem.Run(GetParam());
  for (size_t i = 0; i < y.size(); ++i) {
    ASSERT_TRUE(SameValue(y[i], problem.expected[i])) << y[i] << " for " << problem.expected[i];
    ASSERT_EQ(std::isfinite(y[i]), i % kMaxOuts != 3 && i % kMaxOuts != 5) << i % kMaxOuts;
  }
}

// What lies behind the last row in a tile is multiplied and thrown away.
TEST_P(MmqTilesTest, RowsBehindTheLastReachNobody) {
  const Problem problem(256, true, 24);
  std::vector<ActivationTile> a = problem.Tiles(17);
  for (size_t c = 8; c < 16; ++c) {
    for (int r = 1; r < kTileRows; ++r) a[c].d[r] = std::numeric_limits<float>::quiet_NaN();
  }
  std::vector<float> y(18 * kMaxOuts, Sentinel());
  MmqTiles(GetParam().level, problem.Args(GetParam().plane, a, 17, y.data(), kMaxOuts),
           {0, kMaxOuts});
  for (size_t i = 0; i < y.size(); ++i) {
    ASSERT_EQ(Bits(y[i]), i < 17 * kMaxOuts ? Bits(problem.expected[i]) : kSentinel) << i;
  }
}

// The plane is read where there is one, and only then.
TEST_P(MmqTilesTest, ScalesComeFromThePlane) {
  Problem problem(512, true, 25);
  for (ScalePair& pair : problem.scales) pair.ws *= 2;
  const std::vector<float> y = problem.Run(GetParam());
  size_t changed = 0;
  for (size_t i = 0; i < y.size(); ++i) changed += Bits(y[i]) != Bits(problem.expected[i]);
  if (GetParam().plane) {
    EXPECT_GT(changed, y.size() * 9 / 10);
  } else {
    EXPECT_EQ(changed, 0u);
  }
}

size_t Changed(const std::vector<float>& a, const std::vector<float>& b) {
  size_t changed = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) changed += Bits(a[i]) != Bits(b[i]);
  return changed;
}

// Each defect does to healthy data what its name says: the same bits come out of the contract when
// the data are damaged in that way and the kernel is not.
TEST_P(MmqTilesTest, FaultsDoWhatTheirNamesSay) {
  const Problem problem(512, true, 42);
  EXPECT_EQ(Changed(problem.Run(GetParam(), KernelFault::kWrongTail), problem.expected), 0u);
  EXPECT_EQ(Changed(problem.Run(GetParam(), KernelFault::kSwapHalfScales), problem.expected), 0u);

  Problem swapped = problem;
  Problem dropped = problem;
  for (size_t at = 0; at < problem.w.size(); at += 144) {
    for (size_t i = 16; i < 144; ++i) {
      const uint8_t q = problem.w[at + i];
      swapped.w[at + i] = static_cast<uint8_t>(q << 4 | q >> 4);
    }
    dropped.w[at + 4 + 5] &= 0x3F;  // the min of sub-block 5: upper two bits here,
    dropped.w[at + 4 + 9] &= 0x0F;  // lower four here
  }
  Problem moved = problem;
  for (int64_t row = 0; row < kMaxRows; ++row) {
    for (int64_t c = 0; c < 16; ++c) {
      moved.rows[static_cast<size_t>(row * 16 + c)] =
          problem.rows[static_cast<size_t>(row * 16 + c / 8 * 8 + row % 16 / 8)];
    }
  }
  const size_t most = problem.expected.size() * 9 / 10;
  const struct {
    KernelFault fault;
    Problem* damaged;
  } faults[] = {{KernelFault::kSwapNibbles, &swapped},
                {KernelFault::kDropMin, &dropped},
                {KernelFault::kChunkOffPlane, &moved}};
  for (const auto& f : faults) {
    f.damaged->Weights();
    EXPECT_GT(Changed(f.damaged->expected, problem.expected), most);
    EXPECT_EQ(Changed(problem.Run(GetParam(), f.fault), f.damaged->expected), 0u)
        << static_cast<int>(f.fault);
  }
}

INSTANTIATE_TEST_SUITE_P(Q4K, MmqTilesTest, ::testing::ValuesIn(AllCases()),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace fg
