#include "gates/op_pins.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/file.h"
#include "base/testing/temp_dir.h"

namespace flipgate {
namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kInfinity = std::numeric_limits<float>::infinity();

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// Two rows of two; the model's bits are the exact values, the tolerance is 0.5 and noise 0.125.
class OpPinsTest : public testing::Test {
 protected:
  OpPinsTest() {
    pins_.folder = fg::ProcessTempDir();
    Write("y.f32", Bytes<float>({1, 8, 0.25f, 0.5f}));
    Write("y.f64", Bytes<double>({1, 8, 0.25, 0.5}));
    Write("n.f64", Bytes<double>(std::vector<double>(4, 0.125)));
    Write("t.f64", Bytes<double>(std::vector<double>(4, 0.5)));
    case_.name = "case";
    case_.op = "matmul";
    case_.expect["y"] = {"y.f32", "f32", {2, 2}};
    case_.exact["y"] = {"y.f64", "f64", {2, 2}};
    case_.noise["y"] = {"n.f64", "f64", {2, 2}};
    case_.tolerance["y"] = {"t.f64", "f64", {2, 2}};
  }
  void Write(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(fg::WriteFileAtomic(pins_.folder + "/" + name, bytes).ok());
  }
  OpVerdict Judged(const std::vector<float>& values, const OpLimit& limit) {
    auto verdict = JudgeOp(pins_, case_, "y", Bytes(values), limit);
    EXPECT_TRUE(verdict.ok()) << verdict.status().message();
    return *verdict;
  }

  OpPins pins_;
  OpCase case_;
};

TEST_F(OpPinsTest, BitsAreOwedWhereTheLimitIsBitwise) {
  EXPECT_EQ(Judged({1, 8, 0.25f, 0.5f}, {}).fault, "");
  const OpVerdict off = Judged({1, 8.0625f, 0.25f, 0.5f}, {});
  EXPECT_EQ(off.noise, 4);
  EXPECT_EQ(off.fault,
            "1 of 4 values differ from the numpy model, first at 1: 8.0625, the model has 8");
}

TEST_F(OpPinsTest, AnotherClassOwesFloat64Alone) {
  const OpLimit limit = {.bitwise = false, .factor = 2};
  const OpVerdict inside = Judged({1.875f, 8, 0.25f, 0.5f}, limit);
  EXPECT_EQ(inside.fault, "");
  EXPECT_EQ(inside.different, 1);
  EXPECT_EQ(inside.rounding, 1);
  EXPECT_DOUBLE_EQ(inside.worst, 0.875);
  EXPECT_EQ(Judged({2.125f, 8, 0.25f, 0.5f}, limit).fault,
            "1 of 4 values lie beyond what rounding explains against float64");
  EXPECT_NE(Judged({kNan, 8, 0.25f, 0.5f}, limit).fault, "");
}

TEST_F(OpPinsTest, AShareIsOfTheRowsLargestValue) {
  const OpLimit limit = {.bitwise = false, .factor = 1, .share = 0.25};
  EXPECT_EQ(Judged({3, 8, 0.25f, 0.5f}, limit).fault, "");      // 2 of 8
  EXPECT_NE(Judged({1, 8, 0.25f, 0.75f}, limit).fault, "");     // 0.25 of 0.5
  EXPECT_EQ(Judged({1, 8, 0.3125f, 0.5f}, limit).rounding, 0);  // within the noise
}

TEST_F(OpPinsTest, WithoutExactValuesTheFormIsHeld) {
  case_.exact.clear();
  Write("y.f32", Bytes<float>({kNan, kInfinity, 1, 2}));
  const OpLimit limit = {.bitwise = false};
  EXPECT_EQ(Judged({-kNan, kInfinity, 1.5f, 2}, limit).fault, "");
  EXPECT_NE(Judged({1, kInfinity, 1, 2}, limit).fault, "");
  EXPECT_NE(Judged({kNan, -kInfinity, 1, 2}, limit).fault, "");
  EXPECT_NE(Judged({kNan, kInfinity, kNan, 2}, limit).fault, "");
  EXPECT_NE(Judged({kNan, kInfinity, 1.5f, 2}, {}).fault, "");  // bits, where they are owed
}

TEST_F(OpPinsTest, PlanesAreBytesOnEveryClass) {
  case_.expect["plane"] = {"y.f32", "u8", {16}};
  const OpLimit limit = {.bitwise = false, .factor = 100};
  auto verdict = JudgeOp(pins_, case_, "plane", Bytes<float>({1, 8, 0.25f, 0.75f}), limit);
  ASSERT_TRUE(verdict.ok());
  EXPECT_EQ(verdict->fault,
            "1 of 16 bytes differ from the numpy model, first different byte at 14");
}

}  // namespace
}  // namespace flipgate
