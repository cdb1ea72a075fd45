#include "kernels/cpu/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/cpu/float_testing.h"
#include "kernels/cpu/gemm_reference.h"

namespace fg {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

enum class Weights { kF16, kBF16, kF32 };

// Weights [out][k] as stored and as the f32 that they are; rows as given and as multiplied.
struct Problem {
  Problem(Weights weights, int64_t rows, int64_t k, int64_t out, float limit = 3.0f)
      : type(weights), rows(rows), k(k), out(out), ldx(k + 3) {
    SeededValues values(static_cast<uint32_t>(rows * 7919 + k * 31 + out));
    w = values.Floats(out * k);
    x = values.Floats(rows * ldx, limit);
    bias = values.Floats(out, 5.0f);
    for (int64_t r = 3; r < rows; r += 5) {  // exponents of 1 to 4 beside those of 0
      for (int64_t i = 0; i < k; ++i) x[static_cast<size_t>(r * ldx + i)] *= 0x1p16f;
    }
    Store();
  }

  // After a change of w or x: what is stored, and what that makes of them.
  void Store() {
    stored.clear();
    for (float& value : w) {
      if (type == Weights::kF32) continue;
      stored.push_back(type == Weights::kF16 ? F32ToF16(value) : F32ToBF16(value));
      value = type == Weights::kF16 ? F16ToF32(stored.back()) : BF16ToF32(stored.back());
    }
    if (type == Weights::kF32) return;
    a.resize(static_cast<size_t>(rows * k));
    exponents.resize(static_cast<size_t>(rows));
    RoundRowsToF16Contract(x.data(), ldx, rows, k, a.data(), exponents.data());
    multiplied.clear();
    for (const uint16_t half : a) multiplied.push_back(F16ToF32(half));
  }

  void Run(CpuLevel level, const float* b, Range outs, float* y, int64_t ldy) const {
    switch (type) {
      case Weights::kF16:
        return GemmF16(level, stored.data(), a.data(), exponents.data(), rows, k, b, outs, y, ldy);
      case Weights::kBF16:
        return GemmBF16(level, stored.data(), a.data(), exponents.data(), rows, k, b, outs, y, ldy);
      case Weights::kF32:
        return GemmF32(level, w.data(), x.data(), ldx, rows, k, b, outs, y, ldy);
    }
  }
  std::vector<float> Run(CpuLevel level, const float* b) const {
    GuardedBuffer<float> y(rows * out);
    Run(level, b, {0, out}, y.data(), out);
    EXPECT_TRUE(y.GuardsIntact());
    return {y.values().begin(), y.values().end()};
  }
  std::vector<float> Contract(const float* b) const {
    std::vector<float> y(static_cast<size_t>(rows * out));
    const bool rounded = type != Weights::kF32;
    GemmContract(w.data(), rounded ? multiplied.data() : x.data(), rounded ? k : ldx,
                 rounded ? exponents.data() : nullptr, rows, k, out, b, y.data());
    return y;
  }
  GemmExactResult Exact(const float* b) const {
    const bool rounded = type != Weights::kF32;
    return GemmExact(w.data(), rounded ? multiplied.data() : x.data(), rounded ? k : ldx,
                     rounded ? exponents.data() : nullptr, rows, k, out, b);
  }

  Weights type;
  int64_t rows, k, out, ldx;
  std::vector<float> w, x, bias, multiplied;
  std::vector<uint16_t> stored, a;
  std::vector<int32_t> exponents;
};

void ExpectAllAgree(const Problem& p, const float* bias) {
  const std::vector<float> contract = p.Contract(bias);
  const GemmExactResult exact = p.Exact(bias);
  for (const CpuLevel level : SupportedCpuLevels()) {
    const std::vector<float> y = p.Run(level, bias);
    ASSERT_EQ(FirstDifference(contract, y), "")
        << CpuLevelName(level) << " rows " << p.rows << " k " << p.k << " out " << p.out;
    ASSERT_EQ(FirstOutside(exact.y, exact.bound, y), "")
        << CpuLevelName(level) << " rows " << p.rows << " k " << p.k << " out " << p.out;
  }
}

class GemmTypes : public testing::TestWithParam<Weights> {};

TEST_P(GemmTypes, EveryDepth) {
  for (const int64_t k :
       {1, 7, 8, 9, 15, 16, 17, 31, 33, 64, 127, 128, 129, 255, 256, 257, 513, 1000, 1024}) {
    const Problem p(GetParam(), 3, k, 19);
    ExpectAllAgree(p, p.bias.data());
    ExpectAllAgree(p, nullptr);
  }
}

TEST_P(GemmTypes, EveryNumberOfRowsAndOutputs) {
  for (int64_t rows = 1; rows <= 17; ++rows) {
    for (int64_t out = 1; out <= 17; ++out) {
      const Problem p(GetParam(), rows, 33, out);
      ExpectAllAgree(p, p.bias.data());
    }
  }
  // Every remainder of a tile of 12 rows, and panels of 32 outputs with one over and one short.
  for (const int64_t rows : {1, 3, 12, 13, 21, 23, 24, 31}) {
    for (const int64_t out : {31, 32, 33, 47, 64, 65}) {
      const Problem p(GetParam(), rows, 40, out);
      ExpectAllAgree(p, p.bias.data());
    }
  }
  for (const int64_t rows : {63, 64, 65, 95, 96, 97, 130, 200}) {
    const Problem p(GetParam(), rows, 130, 33);
    ExpectAllAgree(p, p.bias.data());
  }
}

TEST_P(GemmTypes, APartOfTheOutputsIsAllThatIsWritten) {
  const Problem p(GetParam(), 7, 300, 70);
  const std::vector<float> contract = p.Contract(p.bias.data());
  constexpr int64_t kLdy = 75;
  for (const CpuLevel level : SupportedCpuLevels()) {
    for (const Range outs : {Range{0, 1}, Range{0, 7}, Range{3, 20}, Range{16, 40}, Range{39, 40},
                             Range{5, 37}, Range{8, 8}, Range{1, 34}, Range{6, 70}}) {
      GuardedBuffer<float> y(p.rows * kLdy);
      p.Run(level, p.bias.data(), outs, y.data(), kLdy);
      EXPECT_TRUE(y.GuardsIntact());
      for (int64_t r = 0; r < p.rows; ++r) {
        for (int64_t o = 0; o < kLdy; ++o) {
          if (o >= outs.begin && o < outs.end) {
            ASSERT_TRUE(SameFloat(y[r * kLdy + o], contract[static_cast<size_t>(r * p.out + o)]));
          } else {
            ASSERT_TRUE(y.Untouched(r * kLdy + o)) << CpuLevelName(level) << " " << r << " " << o;
          }
        }
      }
    }
  }
}

TEST_P(GemmTypes, ANaNOrInfinityReachesItsOwnOutputsAlone) {
  Problem p(GetParam(), 4, 70, 20);
  p.x[static_cast<size_t>(1 * p.ldx + 69)] = kNaN;
  p.x[static_cast<size_t>(2 * p.ldx + 3)] = kInfinity;
  p.w[static_cast<size_t>(5 * p.k + 11)] = -kInfinity;
  p.Store();
  const std::vector<float> contract = p.Contract(nullptr);
  for (const CpuLevel level : SupportedCpuLevels()) {
    const std::vector<float> y = p.Run(level, nullptr);
    EXPECT_EQ(FirstDifference(contract, y), "") << CpuLevelName(level);
    for (int64_t o = 0; o < 20; ++o) {
      EXPECT_EQ(std::isfinite(y[static_cast<size_t>(o)]), o != 5);
      EXPECT_TRUE(std::isnan(y[static_cast<size_t>(20 + o)]));
      EXPECT_FALSE(std::isfinite(y[static_cast<size_t>(40 + o)]));
      EXPECT_EQ(std::isfinite(y[static_cast<size_t>(60 + o)]), o != 5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GemmTypes,
                         testing::Values(Weights::kF16, Weights::kBF16, Weights::kF32));

// f16 ends at 65504; the row's exponent keeps what lies beyond it.
TEST(GemmF16, LargeHiddenValuesStayFiniteAndRight) {
  for (const float large : {32768.0f, 65504.0f, 65520.0f, 70000.0f, 1e10f, 3e38f}) {
    Problem p(Weights::kF16, 2, 64, 17);
    p.x[static_cast<size_t>(p.ldx + 9)] = large;
    for (float& w : p.w) w *= 0.5f;
    p.Store();
    ExpectAllAgree(p, p.bias.data());
    for (const CpuLevel level : SupportedCpuLevels()) {
      for (const float y : p.Run(level, p.bias.data())) EXPECT_TRUE(std::isfinite(y)) << large;
    }
    // The large value outweighs the others, so its product alone is near the output.
    const std::vector<float> y = p.Run(BestCpuLevel(), nullptr);
    for (int64_t o = 0; o < p.out && large >= 1e10f; ++o) {
      const double product = static_cast<double>(p.w[static_cast<size_t>(o * p.k + 9)]) * large;
      EXPECT_NEAR(y[static_cast<size_t>(p.out + o)], product, 0x1p-10 * std::abs(product));
    }
  }
}

// The products leave f32 and come back, or fall below its normal numbers: only a true fma is right.
TEST(GemmBF16, ProductsBeyondTheRangeOfF32) {
  for (const float scale : {0x1p120f, 0x1p-130f}) {
    Problem p(Weights::kBF16, 5, 40, 18, scale > 1.0f ? 4.0f : 0x1p-10f);
    for (float& w : p.w) w *= scale;
    for (int64_t o = 0; o < p.out; ++o) {
      p.w[static_cast<size_t>(o * p.k)] = 0x1.8p127f * std::min(scale, 1.0f);
      p.w[static_cast<size_t>(o * p.k + 1)] = -0x1.8p127f * std::min(scale, 1.0f);
    }
    for (int64_t r = 0; r < p.rows; ++r) {
      p.x[static_cast<size_t>(r * p.ldx)] = 1.0f;
      p.x[static_cast<size_t>(r * p.ldx + 1)] = 2.0f;
    }
    p.Store();
    const std::vector<float> contract = p.Contract(nullptr);
    for (const CpuLevel level : SupportedCpuLevels()) {
      EXPECT_EQ(FirstDifference(contract, p.Run(level, nullptr)), "") << CpuLevelName(level);
    }
    EXPECT_TRUE(std::isfinite(contract[0])) << scale;
  }
}

TEST(RoundRowsToF16, ExponentsAtTheBoundary) {
  const struct {
    float amax;
    int32_t exponent;
  } kCases[] = {{0.0f, 0},           {1.0f, 0},
                {0x1.fffffep14f, 0}, {32768.0f, 1},
                {-32768.0f, 1},      {65535.0f, 1},
                {65536.0f, 2},       {70000.0f, 2},
                {3e38f, 113},        {kInfinity, 0},
                {-kInfinity, 0},     {kNaN, 0},
                {-kNaN, 0},          {std::numeric_limits<float>::max(), 113}};
  for (const CpuLevel level : SupportedCpuLevels()) {
    for (const auto& [amax, exponent] : kCases) {
      for (const int64_t at : {0, 6, 8, 18}) {  // of 19, so that vectors and their rest are met
        std::vector<float> x(19, 0.25f);
        if (amax == 0.0f) x.assign(19, 0.0f);
        x[static_cast<size_t>(at)] = amax;
        std::vector<uint16_t> a(19);
        int32_t found = -1;
        RoundRowsToF16(level, x.data(), 19, 1, 19, a.data(), &found);
        EXPECT_EQ(found, exponent) << CpuLevelName(level) << " " << amax << " at " << at;
      }
    }
  }
}

TEST(RoundRowsToF16, EveryLevelGivesTheContractsBits) {
  for (const int64_t k : {1, 7, 8, 15, 16, 17, 31, 33, 64, 256, 1000}) {
    for (const float limit : {1e-40f, 1e-7f, 1e-4f, 1.0f, 40000.0f, 1e20f, 3e38f}) {
      constexpr int64_t kRows = 3;
      const int64_t ldx = k + 2;
      const std::vector<float> x = SeededValues(5).Floats(kRows * ldx, limit);
      std::vector<uint16_t> expected(static_cast<size_t>(kRows * k));
      std::vector<int32_t> expected_exponents(kRows);
      RoundRowsToF16Contract(x.data(), ldx, kRows, k, expected.data(), expected_exponents.data());
      for (const CpuLevel level : SupportedCpuLevels()) {
        GuardedBuffer<uint16_t> a(kRows * k);
        std::vector<int32_t> exponents(kRows);
        RoundRowsToF16(level, x.data(), ldx, kRows, k, a.data(), exponents.data());
        EXPECT_EQ(exponents, expected_exponents) << CpuLevelName(level) << " " << limit;
        EXPECT_EQ(std::vector<uint16_t>(a.values().begin(), a.values().end()), expected)
            << CpuLevelName(level) << " k " << k << " limit " << limit;
        EXPECT_TRUE(a.GuardsIntact());
      }
    }
  }
}

TEST(RoundRowsToF16, SubnormalsAreKept) {
  const float x[] = {0x1p-24f, -0x1.8p-24f, 0x1p-15f, 0x1p-26f, 1.0f,
                     0.0f,     -0.0f,       0x1p-24f, 0x1p-23f};
  const std::vector<uint16_t> expected = {1, 0x8002, 0x200, 0, 0x3C00, 0, 0x8000, 1, 2};
  for (const CpuLevel level : SupportedCpuLevels()) {
    std::vector<uint16_t> a(9);
    int32_t exponent = -1;
    RoundRowsToF16(level, x, 9, 1, 9, a.data(), &exponent);
    EXPECT_EQ(a, expected) << CpuLevelName(level);
    EXPECT_EQ(exponent, 0);
    // And they multiply as what they are, not as zero.
    const std::vector<uint16_t> w(9, 0x3C00);
    float y = 0.0f;
    GemmF16(level, w.data(), a.data(), &exponent, 1, 4, nullptr, {0, 1}, &y, 1);
    EXPECT_EQ(y, 0x1p-24f - 0x1p-23f + 0x1p-15f) << CpuLevelName(level);
  }
}

}  // namespace
}  // namespace fg
