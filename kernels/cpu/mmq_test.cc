#include "kernels/cpu/mmq.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cpu/mmq_reference.h"
#include "kernels/cpu/quant_test_data.h"
#include "kernels/cpu/quantize_rows.h"

namespace fg {
namespace {

using testing::Activations;
using testing::Bits;
using testing::Gaussian;
using testing::kSentinel;
using testing::RandomBlocks;
using testing::SameValue;
using testing::Sentinel;

constexpr int64_t kMaxRows = 33;
constexpr int64_t kMaxOuts = 257;

struct Case {
  MmqForm form;
  TensorType type;
  CpuLevel level;
};

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const CpuLevel level : SupportedCpuLevels()) {
    for (const MmqForm form : {MmqForm::kGeneric, MmqForm::kRaw, MmqForm::kNibble}) {
      for (const TensorType type : {TensorType::kQ4_0, TensorType::kQ5_0, TensorType::kQ8_0,
                                    TensorType::kQ4_K, TensorType::kQ6_K}) {
        if (MmqSupports(form, type)) cases.push_back({form, type, level});
      }
    }
  }
  return cases;
}

std::string NameOf(const Case& c) {
  const char* forms[] = {"generic", "raw", "nibble"};
  return std::string(forms[static_cast<int>(c.form)]) + "_" + InfoOf(c.type).name + "_" +
         CpuLevelName(c.level);
}

// Weights, activations and the contract's answer for all of them.
struct Problem {
  Problem(TensorType weight_type, int64_t values, bool with_bias, uint32_t seed)
      : type(weight_type),
        k(values),
        w(RandomBlocks(type, kMaxOuts, k, seed)),
        x(Activations(kMaxRows, k, seed + 1)),
        plane(static_cast<size_t>(kMaxRows * k / 32)),
        bias(Gaussian(kMaxOuts, seed + 2)),
        expected(static_cast<size_t>(kMaxRows * kMaxOuts)),
        biased(with_bias) {
    QuantizeRows(CpuLevel::kPlain, x.data(), k, kMaxRows, k, plane.data());
    Reference();
  }

  void Reference() { MmqContract(Args(kMaxRows, expected.data(), kMaxOuts), {0, kMaxOuts}); }

  MmqArgs Args(int64_t rows, float* y, int64_t ldy) const {
    return {type, w.data(), plane.data(), rows, k, biased ? bias.data() : nullptr, y, ldy};
  }

  TensorType type;
  int64_t k;
  std::vector<uint8_t> w;
  std::vector<float> x;
  std::vector<ActivationChunk> plane;
  std::vector<float> bias;
  std::vector<float> expected;  // [kMaxRows][kMaxOuts]
  bool biased;
};

// Runs `rows` rows and compares bits inside `outs`, and that not a word outside is written.
void ExpectContract(const Case& c, const Problem& problem, int64_t rows, Range outs) {
  const int64_t ldy = outs.end + 3;
  std::vector<float> y(static_cast<size_t>((rows + 1) * ldy), Sentinel());
  Mmq(c.level, c.form, problem.Args(rows, y.data(), ldy), outs);
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

class MmqTest : public ::testing::TestWithParam<Case> {};

TEST_P(MmqTest, EqualsTheContractBitForBit) {
  const bool super = InfoOf(GetParam().type).block_values == kSuperBlock;
  const std::vector<int64_t> widths =
      super ? std::vector<int64_t>{256, 512, 1024} : std::vector<int64_t>{256, 288, 1024, 4544};
  for (const int64_t k : widths) {
    const Problem problem(GetParam().type, k, k != 512, static_cast<uint32_t>(k));
    for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 33}) {
      for (const int64_t outs : {1, 2, 3, 7, 8, 9, 255, 257}) {
        ExpectContract(GetParam(), problem, rows, {0, outs});
      }
    }
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST_P(MmqTest, PartsOfTheOutputs) {
  const Problem problem(GetParam().type, 512, true, 11);
  for (const Range outs :
       {Range{1, 2}, Range{3, 11}, Range{5, 255}, Range{250, 257}, Range{8, 16}, Range{100, 100}}) {
    ExpectContract(GetParam(), problem, 17, outs);
  }
}

// More rows than share a tile: the second row block starts anew.
TEST_P(MmqTest, ManyRows) {
  const Problem problem(GetParam().type, 256, true, 12);
  const int64_t rows = 131;
  std::vector<ActivationChunk> plane;
  for (int64_t r = 0; r < rows; ++r) {
    const auto from = problem.plane.begin() + (r % kMaxRows) * 8;
    plane.insert(plane.end(), from, from + 8);
  }
  std::vector<float> y(static_cast<size_t>(rows * 9));
  MmqArgs args = problem.Args(rows, y.data(), 9);
  args.a = plane.data();
  Mmq(GetParam().level, GetParam().form, args, {0, 9});
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t o = 0; o < 9; ++o) {
      ASSERT_EQ(Bits(y[static_cast<size_t>(r * 9 + o)]),
                Bits(problem.expected[static_cast<size_t>(r % kMaxRows * kMaxOuts + o)]))
          << "row " << r << " out " << o;
    }
  }
}

// Extremes of every code: the integer sums must not saturate on their way.
TEST_P(MmqTest, LargestSums) {
  Problem problem(GetParam().type, 512, false, 5);
  for (int fill : {0x00, 0xFF, 0x80, 0x7F}) {
    std::fill(problem.w.begin(), problem.w.end(), static_cast<uint8_t>(fill));
    const size_t step = static_cast<size_t>(InfoOf(problem.type).block_bytes);
    for (size_t at = 0; at < problem.w.size(); at += step) {
      const size_t d = problem.type == TensorType::kQ6_K ? at + 208 : at;
      const uint16_t one = 0x3C00;
      std::memcpy(problem.w.data() + d, &one, 2);
      if (problem.type == TensorType::kQ4_K) std::memcpy(problem.w.data() + d + 2, &one, 2);
    }
    for (int sign : {1, -1}) {
      for (ActivationChunk& chunk : problem.plane) {
        std::fill(chunk.q, chunk.q + 32, static_cast<int8_t>(127 * sign));
        chunk.sum[0] = chunk.sum[1] = static_cast<int16_t>(16 * 127 * sign);
        chunk.d = 1;
      }
      problem.Reference();
      ExpectContract(GetParam(), problem, 5, {0, 9});
    }
  }
}

TEST_P(MmqTest, NanReachesItsRowAlone) {
  Problem problem(GetParam().type, 512, true, 21);
  const std::vector<float> healthy = problem.expected;
  problem.x[2 * 512 + 300] = std::numeric_limits<float>::quiet_NaN();
  problem.x[9 * 512 + 5] = std::numeric_limits<float>::infinity();
  QuantizeRows(CpuLevel::kPlain, problem.x.data(), 512, kMaxRows, 512, problem.plane.data());
  std::vector<float> y(static_cast<size_t>(kMaxRows * kMaxOuts));
  Mmq(GetParam().level, GetParam().form, problem.Args(kMaxRows, y.data(), kMaxOuts), {0, kMaxOuts});
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t row = i / kMaxOuts;
    if (row == 2 || row == 9) {
      ASSERT_TRUE(std::isnan(y[i])) << "row " << row << " out " << i % kMaxOuts;
    } else {
      ASSERT_EQ(Bits(y[i]), Bits(healthy[i])) << "row " << row << " out " << i % kMaxOuts;
    }
  }
}

// An infinite or NaN scale in the weights: which NaN comes out is free, whether one does is not.
TEST_P(MmqTest, WeightsThatAreNotFinite) {
  Problem problem(GetParam().type, 256, true, 23);
  const int64_t step = RowBytes(problem.type, 256);
  const int64_t d = problem.type == TensorType::kQ6_K ? 208 : 0;
  const uint16_t infinite = 0x7C00, nan = 0x7E00;
  std::memcpy(problem.w.data() + 3 * step + d, &infinite, 2);
  std::memcpy(problem.w.data() + 5 * step + d, &nan, 2);
  problem.Reference();
  std::vector<float> y(static_cast<size_t>(kMaxRows * kMaxOuts));
  Mmq(GetParam().level, GetParam().form, problem.Args(kMaxRows, y.data(), kMaxOuts), {0, kMaxOuts});
  for (size_t i = 0; i < y.size(); ++i) {
    ASSERT_TRUE(SameValue(y[i], problem.expected[i])) << y[i] << " for " << problem.expected[i];
    ASSERT_EQ(std::isfinite(y[i]), i % kMaxOuts != 3 && i % kMaxOuts != 5) << i % kMaxOuts;
  }
}

// How many outputs lie outside the bounds of `quantized activations`: rounding against the exact
// product of what was multiplied, plus half a step a value against the product before quantizing.
int CountOutside(const Problem& problem, int64_t outs, const std::vector<float>& y) {
  const size_t count = static_cast<size_t>(kMaxRows * outs);
  std::vector<double> exact(count), magnitude(count), original(count), slack(count);
  const MmqArgs args = problem.Args(kMaxRows, nullptr, 0);
  MmqExact(args, {0, outs}, exact.data(), magnitude.data());
  MmqExactFloat(args, problem.x.data(), problem.k, {0, outs}, original.data(), slack.data());
  const double steps = static_cast<double>(problem.k) / 32 * 2 + 3;  // fma a chunk, products, bias
  int outside = 0;
  for (size_t i = 0; i < count; ++i) {
    const double size = magnitude[i] + std::fabs(exact[i]);
    const double rounding = steps * std::numeric_limits<float>::epsilon() / 2 * size;
    const bool close = std::fabs(y[i] - exact[i]) <= rounding;
    const bool near = std::fabs(y[i] - original[i]) <= rounding + slack[i];
    outside += close && near ? 0 : 1;
  }
  return outside;
}

TEST_P(MmqTest, LiesWithinTheBoundsOfTheExactProduct) {
  const int64_t outs = 40;
  const Problem problem(GetParam().type, 1024, true, 31);
  std::vector<float> y(static_cast<size_t>(kMaxRows * outs));
  Mmq(GetParam().level, GetParam().form, problem.Args(kMaxRows, y.data(), outs), {0, outs});
  EXPECT_EQ(CountOutside(problem, outs, y), 0);
  // The bounds are narrow enough to see one step of one activation, and a NaN.
  y[7] += 1e-3f * std::fabs(y[7]);
  y[9] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(CountOutside(problem, outs, y), 2);
}

// A planted defect changes what it names and nothing else.
TEST_P(MmqTest, FaultsShowWhereTheyClaim) {
  const Problem problem(GetParam().type, 512, true, 41);
  const auto run = [&](KernelFault fault) {
    std::vector<float> y(static_cast<size_t>(kMaxRows * kMaxOuts));
    Mmq(GetParam().level, GetParam().form, problem.Args(kMaxRows, y.data(), kMaxOuts),
        {0, kMaxOuts}, fault);
    size_t changed = 0;
    for (size_t i = 0; i < y.size(); ++i) changed += Bits(y[i]) != Bits(problem.expected[i]);
    return changed;
  };
  const size_t most = static_cast<size_t>(kMaxRows * kMaxOuts) * 9 / 10;
  const bool nibble = GetParam().form == MmqForm::kNibble;
  const bool raw = GetParam().form == MmqForm::kRaw;
  EXPECT_EQ(run(KernelFault::kNone), 0u);
  EXPECT_EQ(run(KernelFault::kCoarseQuant), 0u);
  for (const KernelFault fault : {KernelFault::kSwapNibbles, KernelFault::kDropMin}) {
    if (nibble && GetParam().type == TensorType::kQ4_K) {
      EXPECT_GT(run(fault), most);
    } else {
      EXPECT_EQ(run(fault), 0u);
    }
  }
  for (const KernelFault fault : {KernelFault::kSwapHalfScales, KernelFault::kCoarseQ6K}) {
    if (nibble && GetParam().type == TensorType::kQ6_K) {
      EXPECT_GT(run(fault), most);
    } else {
      EXPECT_EQ(run(fault), 0u);
    }
  }
  if (raw) {
    EXPECT_GT(run(KernelFault::kWrongTail), most);
  } else {
    EXPECT_EQ(run(KernelFault::kWrongTail), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(All, MmqTest, ::testing::ValuesIn(AllCases()),
                         [](const auto& info) { return NameOf(info.param); });

TEST(Mmq, WhatEachFormSupports) {
  for (const uint32_t id : {0u, 1u, 2u, 3u, 6u, 7u, 8u, 10u, 11u, 12u, 13u, 14u, 30u}) {
    const auto type = static_cast<TensorType>(id);
    EXPECT_EQ(MmqSupports(MmqForm::kGeneric, type),
              id == 2 || id == 6 || id == 8 || id == 12 || id == 14)
        << id;
    EXPECT_EQ(MmqSupports(MmqForm::kRaw, type), id == 12) << id;
    EXPECT_EQ(MmqSupports(MmqForm::kNibble, type), id == 12 || id == 14) << id;
  }
}

TEST(Mmq, RowsOfOneChunk) {
  for (const TensorType type : {TensorType::kQ4_0, TensorType::kQ5_0, TensorType::kQ8_0}) {
    Problem problem(type, 256, true, 3);
    problem.k = 32;  // the first eighth of the same bytes, as rows of one block
    problem.Reference();
    for (const CpuLevel level : SupportedCpuLevels()) {
      const Case c = {MmqForm::kGeneric, type, level};
      for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33}) {
        for (const int64_t outs : {1, 2, 3, 8, 255, 257}) {
          ExpectContract(c, problem, rows, {0, outs});
        }
      }
    }
  }
}

// Each defect does to healthy weights what its name says: the same bits come out of the contract
// when the weights are damaged in that way and the kernel is not.
TEST(Mmq, FaultsDoWhatTheirNamesSay) {
  const Problem problem(TensorType::kQ4_K, 512, true, 42);
  const auto expect = [&](MmqForm form, KernelFault fault, void (*damage)(BlockQ4_K*, bool last)) {
    Problem damaged = problem;
    auto* blocks = reinterpret_cast<BlockQ4_K*>(damaged.w.data());
    for (int64_t b = 0; b < 2 * kMaxOuts; ++b) damage(blocks + b, b % 2 == 1);
    damaged.Reference();
    for (const CpuLevel level : SupportedCpuLevels()) {
      std::vector<float> y(damaged.expected.size());
      Mmq(level, form, problem.Args(kMaxRows, y.data(), kMaxOuts), {0, kMaxOuts}, fault);
      for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(Bits(y[i]), Bits(damaged.expected[i])) << i;
    }
  };
  expect(MmqForm::kNibble, KernelFault::kSwapNibbles, [](BlockQ4_K* block, bool) {
    for (uint8_t& q : block->q) q = static_cast<uint8_t>(q << 4 | q >> 4);
  });
  expect(MmqForm::kNibble, KernelFault::kDropMin, [](BlockQ4_K* block, bool) {
    block->s[5] &= 0x3F;  // the min of sub-block 5: upper two bits here,
    block->s[9] &= 0x0F;  // lower four here
  });
  expect(MmqForm::kRaw, KernelFault::kWrongTail, [](BlockQ4_K* block, bool last) {
    if (last) block->d = block->dmin = 0;
  });
}

// The defects give the same wrong bits on every level, as the healthy kernels give the right ones.
TEST(Mmq, FaultsAreTheSameOnEveryLevel) {
  const Problem problem(TensorType::kQ4_K, 512, true, 43);
  struct Planted {
    MmqForm form;
    KernelFault fault;
  };
  for (const Planted& p : {Planted{MmqForm::kNibble, KernelFault::kSwapNibbles},
                           Planted{MmqForm::kNibble, KernelFault::kDropMin},
                           Planted{MmqForm::kRaw, KernelFault::kWrongTail}}) {
    std::vector<float> first(static_cast<size_t>(kMaxRows * kMaxOuts));
    Mmq(CpuLevel::kPlain, p.form, problem.Args(kMaxRows, first.data(), kMaxOuts), {0, kMaxOuts},
        p.fault);
    for (const CpuLevel level : SupportedCpuLevels()) {
      std::vector<float> y(first.size());
      Mmq(level, p.form, problem.Args(kMaxRows, y.data(), kMaxOuts), {0, kMaxOuts}, p.fault);
      for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(Bits(y[i]), Bits(first[i])) << i;
    }
  }
}

}  // namespace
}  // namespace fg
