#include "engine/backend/cpu/cpu_operations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/testing/test_engine.h"

namespace fg {
namespace {

constexpr float kGuard = -77.0f;

struct Made {
  Ledger ledger;
  MemoryBook memory;
  Gates gates = testing::GatesOf({}, &ledger);
  CpuOperations operations{gates, &ledger, &memory};

  std::string Label() const {
    std::string text;
    for (const auto& [key, count] : ledger.counts().dispatch) {
      text += std::string(PhaseName(std::get<0>(key))) + " " + std::get<2>(key) + " " +
              std::to_string(count) + ";";
    }
    return text;
  }
};

TEST(CpuOperations, EachRunsInThePhaseOfItsRows) {
  const std::vector<float> x(16 * 32, 0.5f), w(32, 2.0f);
  std::vector<float> y(16 * 32 + 1, kGuard);
  Made few, many;
  ASSERT_TRUE(few.operations.RmsNorm(x.data(), w.data(), 15, 32, 0.0f, y.data()).ok());
  EXPECT_EQ(few.Label(), "decode rms_norm 1;");
  ASSERT_TRUE(many.operations.RmsNorm(x.data(), w.data(), 16, 32, 0.0f, y.data()).ok());
  EXPECT_EQ(many.Label(), "prefill rms_norm 1;");
  for (size_t i = 0; i < 16 * 32; ++i) ASSERT_EQ(y[i], 2.0f) << i;
  EXPECT_EQ(y.back(), kGuard);
}

// A rotation by position * base^(-2i/d), in double.
TEST(CpuOperations, RopeMakesTheAnglesOfItsOwnBase) {
  constexpr int64_t kDim = 8;
  std::vector<float> x(2 * kDim, 1.0f);
  const std::vector<int32_t> positions = {0, 5};
  Made made;
  ASSERT_TRUE(made.operations.Rope(x.data(), 2, 1, kDim, positions.data(), 100.0).ok());
  EXPECT_EQ(made.Label(), "decode rope 1;");
  for (int64_t i = 0; i < kDim / 2; ++i) {
    const double angle = 5 * std::pow(100.0, -2.0 * static_cast<double>(i) / kDim);
    EXPECT_EQ(x[i], 1.0f);
    EXPECT_NEAR(x[kDim + i], std::cos(angle) - std::sin(angle), 1e-6) << i;
    EXPECT_NEAR(x[kDim + kDim / 2 + i], std::cos(angle) + std::sin(angle), 1e-6) << i;
  }
}

TEST(CpuOperations, AttentionReadsTheCacheUpToEachRowsPosition) {
  const std::vector<float> q(2 * 16, 0.0f);                       // all scores are equal
  std::vector<uint16_t> keys(3 * 16, 0), values(3 * 16, 0x3C00);  // 1
  for (int i = 0; i < 16; ++i) values[16 + i] = 0x4200;           // 3 at position 1
  for (int i = 0; i < 16; ++i) values[32 + i] = 0x7C00;           // infinity beyond both rows
  const std::vector<int32_t> at = {0, 1};
  std::vector<float> y(2 * 16 + 1, kGuard);
  Made made;
  ASSERT_TRUE(
      made.operations
          .Attention({2, 1, 1, 16, 3}, q.data(), keys.data(), values.data(), at.data(), y.data())
          .ok());
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(y[i], 1.0f);
    EXPECT_EQ(y[16 + i], 2.0f);
  }
  EXPECT_EQ(y.back(), kGuard);
}

TEST(CpuOperations, AWeightThatNoModelCouldHaveIsRefused) {
  const std::vector<float> w(30 * 2, 1.0f), x(16 * 30, 1.0f);
  std::vector<float> y(16 * 2, kGuard);
  Made made;
  const Status refused = made.operations.Matmul({"w", TensorType::kQ4_0, w.data(), 30, 2}, x.data(),
                                                16, nullptr, y.data());
  EXPECT_EQ(refused.kind(), ErrorKind::kBadModel) << refused.message();
  EXPECT_EQ(y[0], kGuard);
  ASSERT_TRUE(made.operations
                  .Matmul({"w", TensorType::kF32, w.data(), 30, 2}, x.data(), 16, nullptr, y.data())
                  .ok());
  EXPECT_EQ(y[31], 30.0f);
}

}  // namespace
}  // namespace fg
