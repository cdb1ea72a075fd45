#include "kernels/cpu/matvec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cpu/matvec_reference.h"
#include "kernels/cpu/mmq_reference.h"
#include "kernels/cpu/quant_test_data.h"
#include "kernels/cpu/quantize_rows.h"
#include "kernels/formats/encode.h"

namespace fg {
namespace {

using testing::Activations;
using testing::Bits;
using testing::Gaussian;
using testing::kSentinel;
using testing::RandomBlocks;
using testing::SameValue;
using testing::Sentinel;

constexpr int64_t kMaxOuts = 257;
constexpr Range kRanges[] = {{0, 1},  {0, 2},   {0, 3},   {0, 7},     {0, 8},
                             {0, 9},  {0, 255}, {0, 257}, {1, 2},     {3, 11},
                             {5, 20}, {8, 16},  {60, 60}, {250, 257}, {255, 257}};

struct Case {
  TensorType type;
  CpuLevel level;
};

std::vector<Case> CasesOf(std::vector<TensorType> types) {
  std::vector<Case> cases;
  for (const CpuLevel level : SupportedCpuLevels()) {
    for (const TensorType type : types) cases.push_back({type, level});
  }
  return cases;
}

std::string NameOf(const Case& c) {
  return std::string(InfoOf(c.type).name) + "_" + CpuLevelName(c.level);
}

// `run(outs, y)` must give `expected` in every range and leave every other word alone.
template <typename Run>
void ExpectInEveryRange(const std::vector<float>& expected, Run run) {
  for (const Range outs : kRanges) {
    std::vector<float> y(kMaxOuts + 2, Sentinel());
    run(outs, y.data() + 1);
    for (int64_t o = -1; o <= kMaxOuts; ++o) {
      const float got = y[static_cast<size_t>(o + 1)];
      if (o >= outs.begin && o < outs.end) {
        const float want = expected[static_cast<size_t>(o)];
        ASSERT_TRUE(std::isfinite(want));
        ASSERT_EQ(Bits(got), Bits(want))
            << got << " for " << want << " at " << o << " of " << outs.begin << " to " << outs.end;
      } else {
        ASSERT_EQ(Bits(got), kSentinel) << "written outside at " << o;
      }
    }
  }
}

class MatvecQuantizedTest : public ::testing::TestWithParam<Case> {};

TEST_P(MatvecQuantizedTest, EqualsTheContractBitForBit) {
  const auto [type, level] = GetParam();
  const std::vector<int64_t> widths = InfoOf(type).block_values == kBlock32
                                          ? std::vector<int64_t>{32, 256, 288, 1024, 4544}
                                          : std::vector<int64_t>{256, 512, 1024};
  for (const int64_t k : widths) {
    for (const bool biased : {false, true}) {
      const uint32_t seed = static_cast<uint32_t>(k) + biased;
      const std::vector<uint8_t> w = RandomBlocks(type, kMaxOuts, k, seed);
      const std::vector<float> x = k < 256 ? Gaussian(k, seed + 1) : Activations(1, k, seed + 1);
      const std::vector<float> bias = Gaussian(kMaxOuts, seed + 2);
      const float* b = biased ? bias.data() : nullptr;
      std::vector<ActivationChunk> a(static_cast<size_t>(k / 32));
      QuantizeRows(CpuLevel::kPlain, x.data(), k, 1, k, a.data());
      std::vector<float> expected(kMaxOuts);
      MmqContract({type, w.data(), a.data(), 1, k, b, expected.data(), kMaxOuts}, {0, kMaxOuts});
      ExpectInEveryRange(expected, [&](Range outs, float* y) {
        MatvecQuantized(level, type, w.data(), a.data(), k, b, outs, y);
      });
      ASSERT_FALSE(HasFatalFailure()) << "k " << k;
    }
  }
}

TEST_P(MatvecQuantizedTest, LargestSums) {
  const auto [type, level] = GetParam();
  std::vector<ActivationChunk> a(8);
  for (const int fill : {0x00, 0xFF, 0x80, 0x7F}) {
    std::vector<uint8_t> w(static_cast<size_t>(kMaxOuts * RowBytes(type, 256)),
                           static_cast<uint8_t>(fill));
    const size_t step = static_cast<size_t>(InfoOf(type).block_bytes);
    for (size_t at = 0; at < w.size(); at += step) {
      const uint16_t one = 0x3C00;
      std::memcpy(w.data() + at + (type == TensorType::kQ6_K ? 208 : 0), &one, 2);
      if (type == TensorType::kQ4_K) std::memcpy(w.data() + at + 2, &one, 2);
    }
    for (const int sign : {1, -1}) {
      for (ActivationChunk& chunk : a) {
        std::fill(chunk.q, chunk.q + 32, static_cast<int8_t>(127 * sign));
        chunk.sum[0] = chunk.sum[1] = static_cast<int16_t>(16 * 127 * sign);
        chunk.d = 1;
      }
      std::vector<float> expected(kMaxOuts);
      MmqContract({type, w.data(), a.data(), 1, 256, nullptr, expected.data(), kMaxOuts},
                  {0, kMaxOuts});
      ExpectInEveryRange(expected, [&](Range outs, float* y) {
        MatvecQuantized(level, type, w.data(), a.data(), 256, nullptr, outs, y);
      });
      ASSERT_FALSE(HasFatalFailure()) << "fill " << fill;
    }
  }
}

TEST_P(MatvecQuantizedTest, NanReachesEveryOutput) {
  const auto [type, level] = GetParam();
  const std::vector<uint8_t> w = RandomBlocks(type, kMaxOuts, 512, 7);
  std::vector<float> x = Activations(1, 512, 8);
  x[400] = -std::numeric_limits<float>::infinity();
  std::vector<ActivationChunk> a(16);
  QuantizeRows(level, x.data(), 512, 1, 512, a.data());
  std::vector<float> y(kMaxOuts);
  MatvecQuantized(level, type, w.data(), a.data(), 512, nullptr, {0, kMaxOuts}, y.data());
  for (const float value : y) ASSERT_TRUE(std::isnan(value));
}

INSTANTIATE_TEST_SUITE_P(All, MatvecQuantizedTest,
                         ::testing::ValuesIn(CasesOf({TensorType::kQ4_0, TensorType::kQ5_0,
                                                      TensorType::kQ8_0, TensorType::kQ4_K,
                                                      TensorType::kQ6_K})),
                         [](const auto& info) { return NameOf(info.param); });

class MatvecFloatTest : public ::testing::TestWithParam<Case> {};

// [outs][k] of the type, from seeded floats.
std::vector<uint8_t> FloatWeights(TensorType type, int64_t k, uint32_t seed) {
  const std::vector<float> values = Gaussian(kMaxOuts * k, seed);
  std::vector<uint8_t> bytes(static_cast<size_t>(RowBytes(type, kMaxOuts * k)));
  EXPECT_TRUE(EncodeRow(type, values.data(), kMaxOuts * k, bytes.data()));
  return bytes;
}

TEST_P(MatvecFloatTest, EqualsTheContractBitForBit) {
  const auto [type, level] = GetParam();
  for (const int64_t k : {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 256, 288, 1001}) {
    const uint32_t seed = static_cast<uint32_t>(k);
    const std::vector<uint8_t> w = FloatWeights(type, k, seed);
    const std::vector<float> x = Gaussian(k, seed + 1, 3);
    const std::vector<float> bias = Gaussian(kMaxOuts, seed + 2);
    for (const float* b : {static_cast<const float*>(nullptr), bias.data()}) {
      std::vector<float> expected(kMaxOuts);
      MatvecFloatContract(type, w.data(), x.data(), k, b, {0, kMaxOuts}, expected.data());
      ExpectInEveryRange(expected, [&](Range outs, float* y) {
        MatvecFloat(level, type, w.data(), x.data(), k, b, outs, y);
      });
      ASSERT_FALSE(HasFatalFailure()) << "k " << k;
    }
  }
}

TEST_P(MatvecFloatTest, LiesWithinTheBoundOfTheExactSum) {
  const auto [type, level] = GetParam();
  const int64_t k = 1001;
  const std::vector<uint8_t> w = FloatWeights(type, k, 51);
  const std::vector<float> x = Gaussian(k, 52, 100);
  std::vector<float> y(kMaxOuts);
  std::vector<double> exact(kMaxOuts), magnitude(kMaxOuts);
  MatvecFloat(level, type, w.data(), x.data(), k, nullptr, {0, kMaxOuts}, y.data());
  MatvecFloatExact(type, w.data(), x.data(), k, nullptr, {0, kMaxOuts}, exact.data(),
                   magnitude.data());
  // A lane's chain has ceil(k / 16) roundings, the tree four.
  const double bound = (63 + 4) * std::numeric_limits<float>::epsilon() / 2;
  for (size_t o = 0; o < y.size(); ++o) {
    ASSERT_TRUE(std::fabs(y[o] - exact[o]) <= bound * magnitude[o]) << y[o] << " for " << exact[o];
  }
}

// A lane that the tail does not reach keeps a sum of -0: were a product of zeros added there, it
// would become +0, and so would the sum of all lanes.
TEST_P(MatvecFloatTest, TailLeavesOtherLanesAlone) {
  const auto [type, level] = GetParam();
  const int64_t k = 33;
  std::vector<float> values(static_cast<size_t>(k));
  std::vector<float> x(static_cast<size_t>(k));
  // -2^-80 * 2^-80 underflows to -0 in each lane.
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = type == TensorType::kF16 ? -0x1p-24f : -0x1p-80f;
    x[i] = type == TensorType::kF16 ? 0x1p-149f : 0x1p-80f;
  }
  std::vector<uint8_t> w(static_cast<size_t>(RowBytes(type, k)));
  ASSERT_TRUE(EncodeRow(type, values.data(), k, w.data()));
  float expected = 1, y = 1;
  MatvecFloatContract(type, w.data(), x.data(), k, nullptr, {0, 1}, &expected);
  ASSERT_EQ(Bits(expected), 0x80000000u);
  MatvecFloat(level, type, w.data(), x.data(), k, nullptr, {0, 1}, &y);
  EXPECT_EQ(Bits(y), Bits(expected));
}

TEST_P(MatvecFloatTest, NanAndInfinityAsTheContractHasThem) {
  const auto [type, level] = GetParam();
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const int64_t k = 37;
  const std::vector<uint8_t> w = FloatWeights(type, k, 61);
  for (const float special : {infinity, -infinity, nan, -nan, 3e38f}) {
    for (const int64_t at : {0, 5, 20, 31, 32, 36}) {
      std::vector<float> x = Gaussian(k, 62);
      x[static_cast<size_t>(at)] = special;
      if (special == 3e38f) x[static_cast<size_t>((at + 16) % k)] = 3e38f;
      std::vector<float> expected(kMaxOuts), y(kMaxOuts);
      MatvecFloatContract(type, w.data(), x.data(), k, nullptr, {0, kMaxOuts}, expected.data());
      MatvecFloat(level, type, w.data(), x.data(), k, nullptr, {0, kMaxOuts}, y.data());
      for (size_t o = 0; o < y.size(); ++o) {
        ASSERT_TRUE(SameValue(y[o], expected[o])) << y[o] << " for " << expected[o];
        ASSERT_TRUE(std::isfinite(special) || !std::isfinite(y[o])) << y[o];
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatvecFloatTest,
                         ::testing::ValuesIn(CasesOf({TensorType::kF32, TensorType::kF16,
                                                      TensorType::kBF16})),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace fg
