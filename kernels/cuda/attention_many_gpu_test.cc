#include "kernels/cuda/attention_testing.h"

namespace fg::cuda {
namespace {

// q is rounded to f16, and so is p, which has no less than 2^-25.
constexpr double kRounding = 0x1p-11, kFloor = 0x1p-25;
constexpr uint16_t kHalfInfinity = 0x7C00, kHalfNan = 0x7E00;

std::vector<float> RunRows(const AttentionOnDevice& device, int64_t begin, int64_t end,
                           AttentionForm form) {
  AttentionArgs args = device.Args(begin, end);
  DeviceArray<float> y(static_cast<size_t>((end - begin) * device.problem.Width()));
  args.y = y.data();
  ExpectOk(AttentionMany(args, nullptr, form), "AttentionMany");
  return y.Host();
}

// Every test runs in both forms.
class AttentionManyForm : public testing::TestWithParam<AttentionForm> {
 protected:
  void SetUp() override {
    if (!AttentionManyHas(GetParam())) GTEST_SKIP() << "this card or build has no wgmma";
  }
  static std::vector<float> Rows(const AttentionOnDevice& device, int64_t begin, int64_t end) {
    return RunRows(device, begin, end, GetParam());
  }
  static std::vector<float> All(const AttentionProblem& problem) {
    const AttentionOnDevice device(problem);
    return Rows(device, 0, problem.rows);
  }
  // Each number of rows at each prefix, the shapes taken in turn.
  static void ExpectAllAgree(int64_t head_dim) {
    const AttentionShape shapes[] = {{4, 2, head_dim},  {5, 1, head_dim},  {14, 2, head_dim},
                                     {28, 4, head_dim}, {12, 2, head_dim}, {3, 3, head_dim}};
    size_t turn = 0;
    for (const int64_t rows : {1, 2, 7, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300}) {
      for (const int64_t first : {0, 1, 15, 255, 256, 257, 1000, 3313}) {
        const AttentionProblem problem(shapes[turn++ % 6], rows, first);
        ExpectExact(problem, All(problem), kRounding, kFloor);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Forms, AttentionManyForm,
                         testing::Values(AttentionForm::kMma, AttentionForm::kWgmma),
                         [](const testing::TestParamInfo<AttentionForm>& form) {
                           return form.param == AttentionForm::kMma ? "Mma" : "Wgmma";
                         });

TEST_P(AttentionManyForm, AgreesWithExactAt64) { ExpectAllAgree(64); }
TEST_P(AttentionManyForm, AgreesWithExactAt128) { ExpectAllAgree(128); }

TEST(AttentionManyServes, TwoHeadDims) {
  for (int64_t dim = 1; dim <= 256; ++dim) {
    EXPECT_EQ(AttentionManyServes(dim), dim == 64 || dim == 128) << dim;
  }
  AttentionArgs args;
  args.rows = args.heads = args.kv_heads = 1;
  args.head_dim = 96;
  EXPECT_EQ(AttentionMany(args, nullptr), cudaErrorInvalidValue);
  EXPECT_TRUE(AttentionManyHas(AttentionForm::kMma));
}

TEST_P(AttentionManyForm, LeavesNothingToDoWithoutRows) {
  const AttentionProblem problem({4, 2, 64}, 1, 3);
  const AttentionOnDevice device(problem);
  EXPECT_TRUE(Rows(device, 0, 0).empty());
}

// Large scores: the weights lie in a few keys, and maxima move from tile to tile.
TEST_P(AttentionManyForm, AgreesWhereScoresAreLarge) {
  for (const float spread : {8.0f, 60.0f}) {
    const AttentionProblem problem({4, 2, 128}, 70, 200, spread);
    ExpectExact(problem, All(problem), kRounding, kFloor);
  }
}

TEST_P(AttentionManyForm, QueriesBeyondF16StayFinite) {
  for (const int64_t dim : {64, 128}) {
    AttentionProblem problem({4, 2, dim}, 40, 30, 1e-3f);
    for (int64_t row = 0; row < problem.rows; row += 3) {
      problem.q[problem.At(row, row % 4, 5)] = row % 2 == 0 ? 70000.0f : -3e6f;
    }
    // Keys so small that scores stay moderate.
    for (int64_t i = 0; i < problem.Length(); ++i) {
      for (int64_t kv = 0; kv < 2; ++kv) problem.keys[problem.KvAt(i, kv, 5)] = 0x0001 + i % 7;
    }
    ExpectExact(problem, All(problem), kRounding, kFloor);
  }
}

// A row of zeros weighs all keys alike.
TEST_P(AttentionManyForm, ZeroQueriesGiveTheMean) {
  AttentionProblem problem({2, 1, 64}, 20, 90);
  problem.q.assign(problem.q.size(), 0.0f);
  ExpectExact(problem, All(problem), kRounding, kFloor);
}

TEST_P(AttentionManyForm, ARowHasTheBitsThatItHasAlone) {
  for (const int64_t dim : {64, 128}) {
    AttentionProblem problem({4, 2, dim}, 300, 100);
    // Values behind a row, however large, add nothing to it.
    for (int64_t i = 0; i < problem.Length(); i += 5) {
      problem.values[problem.KvAt(i, 1, i % dim)] = F32ToF16(i % 2 == 0 ? 60000.0f : -60000.0f);
    }
    const AttentionOnDevice device(problem);
    const std::vector<float> whole = Rows(device, 0, 300);
    const std::vector<std::vector<int64_t>> splits = {
        {0, 1, 8, 24, 124, 300}, {0, 128, 256, 300}, {0, 37, 101, 165, 293, 300}, {0, 299, 300}};
    for (const std::vector<int64_t>& split : splits) {
      std::vector<float> joined;
      for (size_t i = 0; i + 1 < split.size(); ++i) {
        const std::vector<float> some = Rows(device, split[i], split[i + 1]);
        joined.insert(joined.end(), some.begin(), some.end());
      }
      EXPECT_EQ(FirstOtherBits(whole, joined), "") << dim << ", first cut " << split[1];
    }
    for (int64_t row = 0; row < 300; row += 23) {
      const std::vector<float> alone = Rows(device, row, row + 1);
      const std::vector<float> among(
          whole.begin() + static_cast<std::ptrdiff_t>(problem.At(row, 0, 0)),
          whole.begin() + static_cast<std::ptrdiff_t>(problem.At(row + 1, 0, 0)));
      EXPECT_EQ(FirstOtherBits(among, alone), "") << dim << ", row " << row;
    }
  }
}

TEST_P(AttentionManyForm, RepeatsItsBits) {
  const AttentionProblem problem({28, 4, 128}, 500, 33);
  const AttentionOnDevice device(problem);
  const std::vector<float> first = Rows(device, 0, 500);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(FirstOtherBits(first, Rows(device, 0, 500)), "");
}

TEST_P(AttentionManyForm, ANanInQReachesItsHeadAlone) {
  AttentionProblem problem({4, 2, 128}, 140, 10);
  const std::vector<float> clean = All(problem);
  problem.q[problem.At(77, 3, 40)] = std::numeric_limits<float>::quiet_NaN();
  problem.q[problem.At(2, 0, 127)] = std::numeric_limits<float>::infinity();
  const std::vector<float> y = All(problem);
  for (int64_t row = 0; row < 140; ++row) {
    for (int64_t head = 0; head < 4; ++head) {
      // An infinite q gives scores of +inf, or NaN where a key is 0.
      const bool spoilt = (row == 77 && head == 3) || (row == 2 && head == 0);
      for (int64_t d = 0; d < 128; ++d) {
        const size_t i = problem.At(row, head, d);
        const uint32_t expected = spoilt ? 0x7FC00000u : std::bit_cast<uint32_t>(clean[i]);
        ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), expected) << row << ", " << head << ", " << d;
      }
    }
  }
}

TEST_P(AttentionManyForm, ANanInAKeyReachesTheRowsThatSeeIt) {
  for (const int64_t at : {int64_t{0}, int64_t{70}, int64_t{149}}) {
    AttentionProblem problem({4, 2, 64}, 140, 10);
    const std::vector<float> clean = All(problem);
    problem.keys[problem.KvAt(at, 1, 9)] = kHalfNan;
    const std::vector<float> y = All(problem);
    for (int64_t row = 0; row < 140; ++row) {
      for (int64_t head = 0; head < 4; ++head) {
        const size_t i = problem.At(row, head, 33);
        const bool spoilt = problem.KvHead(head) == 1 && problem.first + row >= at;
        ASSERT_EQ(std::bit_cast<uint32_t>(y[i]),
                  spoilt ? 0x7FC00000u : std::bit_cast<uint32_t>(clean[i]))
            << "key " << at << ", row " << row << ", head " << head;
      }
    }
  }
}

// A value that is not finite spoils its column where it is seen, and no bit elsewhere.
TEST_P(AttentionManyForm, AValueThatIsNotFiniteSpoilsItsColumn) {
  for (const uint16_t bad : {kHalfInfinity, uint16_t{0xFC00}, kHalfNan}) {
    for (const int64_t at : {int64_t{3}, int64_t{64}, int64_t{100}, int64_t{149}}) {
      AttentionProblem problem({4, 2, 128}, 140, 10);
      const std::vector<float> clean = All(problem);
      problem.values[problem.KvAt(at, 0, 77)] = bad;
      const std::vector<float> y = All(problem);
      for (int64_t row = 0; row < 140; ++row) {
        for (int64_t i = 0; i < problem.Width(); ++i) {
          const size_t place = static_cast<size_t>(row * problem.Width() + i);
          const bool spoilt = i < 256 && i % 128 == 77 && problem.first + row >= at;
          ASSERT_EQ(std::bit_cast<uint32_t>(y[place]),
                    spoilt ? 0x7FC00000u : std::bit_cast<uint32_t>(clean[place]))
              << "value " << at << ", row " << row << ", " << i;
        }
      }
    }
  }
}

TEST_P(AttentionManyForm, InfiniteScoresTakeTheFormula) {
  AttentionProblem problem({1, 1, 64}, 30, 100);
  for (float& q : problem.q) q = std::abs(q) + 0.1f;
  // A key of -inf weighs nothing, also where it is the first of all.
  AttentionProblem without = problem;
  for (const int64_t at : {0, 50, 110}) {
    problem.keys[problem.KvAt(at, 0, 2)] = kHalfInfinity | 0x8000;
    for (int64_t d = 0; d < 64; ++d) problem.keys[problem.KvAt(at, 0, d)] |= 0x8000;
    for (int64_t d = 0; d < 64; ++d) without.keys[without.KvAt(at, 0, d)] = F32ToF16(-3000.0f);
  }
  EXPECT_EQ(FirstOtherBits(All(without), All(problem)), "");
  // All of them -inf: no weights at all. +inf: inf - inf.
  const std::vector<float> nan(problem.q.size(), std::bit_cast<float>(0x7FC00000u));
  problem.keys.assign(problem.keys.size(), kHalfInfinity | 0x8000);
  EXPECT_EQ(FirstOtherBits(nan, All(problem)), "");
  problem.keys.assign(problem.keys.size(), kHalfInfinity);
  EXPECT_EQ(FirstOtherBits(nan, All(problem)), "");
}

}  // namespace
}  // namespace fg::cuda
