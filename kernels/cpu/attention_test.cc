#include "kernels/cpu/attention.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/cpu/attention_reference.h"
#include "kernels/cpu/float_testing.h"

namespace fg {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr uint16_t kHalfInfinity = 0x7C00;
constexpr uint16_t kHalfNaN = 0x7E00;

// Queries, keys and values of one call, with room for strides.
struct Problem {
  Problem(std::vector<int32_t> at, int64_t heads, int64_t kv_heads, int64_t head_dim,
          float limit = 2.0f)
      : positions(std::move(at)) {
    seen = 1;
    for (const int32_t p : positions) seen = std::max<int64_t>(seen, p + 1);
    const int64_t rows = static_cast<int64_t>(positions.size());
    SeededValues values(static_cast<uint32_t>(head_dim * 100 + heads));
    args.ldq = heads * head_dim + 5;
    args.ldy = heads * head_dim + 3;
    args.rows = rows;
    args.heads = heads;
    args.kv_heads = kv_heads;
    args.head_dim = head_dim;
    q = values.Floats(rows * args.ldq, limit);
    keys = values.Halves(seen * kv_heads * head_dim, limit);
    value_rows = values.Halves(seen * kv_heads * head_dim);
  }

  AttentionArgs Args(float* y) {
    AttentionArgs result = args;
    result.q = q.data();
    result.keys = keys.data();
    result.values = value_rows.data();
    result.positions = positions.data();
    result.y = y;
    return result;
  }
  int64_t Items() const { return args.rows * args.heads; }
  int64_t OutSize() const { return args.rows * args.ldy; }

  // y without the padding of its rows.
  std::vector<float> Dense(const float* y) const {
    std::vector<float> dense;
    const int64_t width = args.heads * args.head_dim;
    for (int64_t r = 0; r < args.rows; ++r) {
      dense.insert(dense.end(), y + r * args.ldy, y + r * args.ldy + width);
    }
    return dense;
  }
  std::vector<float> Contract() {
    std::vector<float> y(static_cast<size_t>(OutSize()));
    AttentionContract(Args(y.data()));
    return Dense(y.data());
  }
  std::vector<float> Run(CpuLevel level) {
    GuardedBuffer<float> y(OutSize());
    GuardedBuffer<float> scratch(AttentionScratch(seen));
    Attention(level, Args(y.data()), {0, Items()}, scratch.data());
    EXPECT_TRUE(y.GuardsIntact() && scratch.GuardsIntact());
    for (int64_t r = 0; r < args.rows; ++r) {
      for (int64_t i = args.heads * args.head_dim; i < args.ldy; ++i) {
        EXPECT_TRUE(y.Untouched(r * args.ldy + i)) << "row " << r << " at " << i;
      }
    }
    return Dense(y.data());
  }

  AttentionArgs args{};
  std::vector<int32_t> positions;
  int64_t seen;
  std::vector<float> q;
  std::vector<uint16_t> keys, value_rows;
};

struct Shape {
  int64_t heads, kv_heads, head_dim;
};

class AttentionShapes : public testing::TestWithParam<Shape> {};

TEST_P(AttentionShapes, EveryLevelGivesTheContractsBitsNearTheExactValue) {
  const auto [heads, kv_heads, head_dim] = GetParam();
  Problem problem({0, 1, 2, 3, 4, 6, 7, 8, 14, 15, 16, 17, 31, 32, 63, 100, 255, 256, 300}, heads,
                  kv_heads, head_dim);
  const std::vector<float> contract = problem.Contract();
  const AttentionExactResult exact = AttentionExact(problem.Args(nullptr));
  for (const CpuLevel level : SupportedCpuLevels()) {
    const std::vector<float> y = problem.Run(level);
    EXPECT_EQ(FirstDifference(contract, y), "") << CpuLevelName(level);
    EXPECT_EQ(FirstOutside(exact.y, exact.bound, y), "") << CpuLevelName(level);
  }
  for (const double bound : exact.bound) EXPECT_LT(bound, 1e-3);  // of values below 1
}

INSTANTIATE_TEST_SUITE_P(All, AttentionShapes,
                         testing::Values(Shape{4, 2, 32}, Shape{4, 2, 64}, Shape{6, 1, 80},
                                         Shape{1, 1, 128}, Shape{6, 1, 20}, Shape{2, 2, 1},
                                         Shape{2, 1, 7}, Shape{2, 1, 17}, Shape{1, 1, 125}));

// Any number of heads that share keys, and any part of the items: a group of heads may be cut where
// it likes, and the parts together give what one call gives.
TEST(Attention, EveryCutOfTheItemsGivesTheSameBits) {
  for (const int64_t shared : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13}) {
    Problem problem({2, 37}, 2 * shared, 2, 20);
    const std::vector<float> contract = problem.Contract();
    for (const CpuLevel level : SupportedCpuLevels()) {
      EXPECT_EQ(FirstDifference(contract, problem.Run(level)), "") << CpuLevelName(level);
      for (const int64_t step : {1, 2, 5, 11}) {
        GuardedBuffer<float> y(problem.OutSize());
        GuardedBuffer<float> scratch(AttentionScratch(problem.seen));
        for (int64_t item = 0; item < problem.Items(); item += step) {
          const Range part = {item, std::min(item + step, problem.Items())};
          Attention(level, problem.Args(y.data()), part, scratch.data());
        }
        EXPECT_TRUE(scratch.GuardsIntact());
        EXPECT_EQ(FirstDifference(contract, problem.Dense(y.data())), "")
            << CpuLevelName(level) << " " << shared << " heads, " << step << " at a time";
      }
    }
  }
}

TEST(Attention, APartOfTheItemsIsAllThatIsWritten) {
  Problem problem({3, 9, 20}, 4, 2, 20);
  const std::vector<float> contract = problem.Contract();
  for (const CpuLevel level : SupportedCpuLevels()) {
    GuardedBuffer<float> y(problem.OutSize());
    std::vector<float> scratch(static_cast<size_t>(AttentionScratch(21)));
    Attention(level, problem.Args(y.data()), {5, 7}, scratch.data());  // row 1, heads 1 and 2
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t i = 0; i < 80; ++i) {
        const int64_t at = r * problem.args.ldy + i;
        if (r == 1 && i >= 20 && i < 60) {
          EXPECT_TRUE(SameFloat(y[at], contract[static_cast<size_t>(r * 80 + i)]));
        } else {
          EXPECT_TRUE(y.Untouched(at)) << r << " " << i;
        }
      }
    }
  }
}

TEST(Attention, LargeScoresDoNotOverflow) {
  Problem problem({40, 200}, 2, 1, 64, 60.0f);
  const std::vector<float> contract = problem.Contract();
  for (const float value : contract) EXPECT_LE(std::abs(value), 1.0f);
  for (const CpuLevel level : SupportedCpuLevels()) {
    EXPECT_EQ(FirstDifference(contract, problem.Run(level)), "") << CpuLevelName(level);
  }
}

// A NaN at any place, the last key and the padded one included, makes its rows plain NaN and leaves
// rows that do not see it alone.
TEST(Attention, ANaNScoreMakesTheRowNaN) {
  for (const int64_t bad : {0, 1, 5, 15, 16, 17}) {
    Problem problem({4, 17}, 2, 1, 20);
    problem.keys[static_cast<size_t>(bad * 20 + 19)] = kHalfNaN;
    problem.value_rows[2] = kHalfNaN | 0x55;  // whose bits must not come through
    for (const CpuLevel level : SupportedCpuLevels()) {
      const std::vector<float> y = problem.Run(level);
      EXPECT_EQ(FirstDifference(problem.Contract(), y), "") << CpuLevelName(level);
      for (size_t i = 0; i < y.size(); ++i) {
        const bool spoilt = i >= 40 || bad <= 4;
        EXPECT_EQ(y[i] != y[i], spoilt || i % 20 == 2) << "key " << bad << " at " << i;
        EXPECT_TRUE(!spoilt || std::bit_cast<uint32_t>(y[i]) == 0x7FC00000u);
      }
    }
  }
}

TEST(Attention, InfinitiesAgreeOnEveryLevel) {
  // +inf as a score gives inf - inf; -inf a weight of 0; a value of inf an infinite or NaN output.
  for (const float sign : {1.0f, -1.0f}) {
    Problem problem({0, 4, 17}, 2, 1, 20);
    for (float& q : problem.q) q = std::abs(q) + 0.1f;
    problem.keys[3 * 20 + 2] = sign > 0 ? kHalfInfinity : kHalfInfinity | 0x8000;
    problem.value_rows[2 * 20 + 7] = kHalfInfinity;
    const std::vector<float> contract = problem.Contract();
    EXPECT_EQ(contract[40] != contract[40], sign > 0);
    for (const CpuLevel level : SupportedCpuLevels()) {
      EXPECT_EQ(FirstDifference(contract, problem.Run(level)), "") << CpuLevelName(level);
    }
  }
  Problem all({5}, 1, 1, 16);  // every score -inf
  all.q.assign(all.q.size(), 1.0f);
  all.keys.assign(all.keys.size(), kHalfInfinity | 0x8000);
  for (const CpuLevel level : SupportedCpuLevels()) {
    EXPECT_EQ(FirstDifference(std::vector<float>(16, kNaN), all.Run(level)), "");
  }
}

// One position: the weight is 1 and the value comes through as it lies in the cache.
TEST(Attention, OnePositionReturnsItsValue) {
  Problem problem({0}, 2, 2, 33);
  std::vector<float> expected;
  for (const uint16_t value : problem.value_rows) expected.push_back(F16ToF32(value));
  for (const CpuLevel level : SupportedCpuLevels()) {
    EXPECT_EQ(FirstDifference(expected, problem.Run(level)), "") << CpuLevelName(level);
  }
}

}  // namespace
}  // namespace fg
