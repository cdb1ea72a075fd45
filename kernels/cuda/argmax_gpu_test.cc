#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/cuda/activations_testing.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/gpu_testing.h"

namespace fg::cuda {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

int32_t Highest(const float* logits, int64_t n) {
  int32_t best = -1;
  for (int64_t id = 0; id < n; ++id) {
    if (std::isnan(logits[id])) continue;
    if (best < 0 || logits[id] > logits[best]) best = static_cast<int32_t>(id);
  }
  return best;
}

// Twice with one scratch that was zeroed once: a call leaves it as it was.
void ExpectIds(const std::vector<float>& logits, int64_t n, size_t shift = 0) {
  const int64_t rows = static_cast<int64_t>(logits.size()) / n;
  std::vector<int32_t> expected;
  for (int64_t r = 0; r < rows; ++r) expected.push_back(Highest(logits.data() + r * n, n));
  std::vector<float> shifted(shift, kInfinity);
  shifted.insert(shifted.end(), logits.begin(), logits.end());
  const DeviceArray<float> in(shifted);
  const std::vector<uint64_t> zeros(static_cast<size_t>(ArgmaxScratch(rows) / 8), 0);
  DeviceArray<uint64_t> scratch(zeros);
  for (int call = 0; call < 2; ++call) {
    DeviceArray<int32_t> ids(static_cast<size_t>(rows));
    ExpectOk(Argmax(in.data() + shift, rows, n, ids.data(), scratch.data(), nullptr), "Argmax");
    EXPECT_EQ(ids.Host(), expected) << n << ", call " << call;
    EXPECT_EQ(scratch.Host(), zeros) << n << ", call " << call;
  }
}

TEST(ArgmaxGpuTest, Sizes) {
  for (const int64_t n : {1, 2, 5, 32, 2047, 2048, 2049, 151936, 152064}) {
    for (const int64_t rows : {1, 2, 15}) {
      std::vector<float> logits = testing::Gaussian(rows * n, static_cast<uint32_t>(n + rows));
      ExpectIds(logits, n);
      ExpectIds(logits, n, 1);
      for (float& v : logits) v = -std::abs(v) - 1;
      ExpectIds(logits, n);
    }
  }
}

// The highest in every stretch of a row, ends of blocks and the last value among them.
TEST(ArgmaxGpuTest, EveryStretch) {
  constexpr int64_t kWidth = 10007;
  std::vector<float> logits;
  for (int64_t at = 0; at < kWidth; at += 61) {
    std::vector<float> row = testing::Gaussian(kWidth, static_cast<uint32_t>(at));
    row[static_cast<size_t>(at)] = 100;
    logits.insert(logits.end(), row.begin(), row.end());
  }
  logits[logits.size() - kWidth + kWidth - 1] = 200;
  ExpectIds(logits, kWidth);
}

TEST(ArgmaxGpuTest, TheLowestOfEquals) {
  constexpr int64_t kWidth = 6000;  // three blocks
  for (const auto& [first, second] : {std::pair(0, 1), std::pair(2047, 2048), std::pair(5, 5999),
                                      std::pair(4100, 4101), std::pair(1000, 1004)}) {
    std::vector<float> logits(kWidth, -3.0f);
    logits[static_cast<size_t>(first)] = logits[static_cast<size_t>(second)] = 2.5f;
    ExpectIds(logits, kWidth);
  }
  ExpectIds(std::vector<float>(kWidth, 7.0f), kWidth);
  // Zeros of both signs are equal.
  std::vector<float> zeros(kWidth, -1.0f);
  zeros[10] = -0.0f, zeros[20] = 0.0f;
  ExpectIds(zeros, kWidth);
  zeros[10] = 0.0f, zeros[20] = -0.0f;
  ExpectIds(zeros, kWidth);
}

TEST(ArgmaxGpuTest, NanAndInfinity) {
  constexpr int64_t kWidth = 4500;
  ExpectIds(std::vector<float>(kWidth, kNan), kWidth);
  ExpectIds(std::vector<float>(kWidth, -kNan), kWidth);
  ExpectIds(std::vector<float>(kWidth, -kInfinity), kWidth);
  std::vector<float> logits(kWidth, kNan);
  logits[4321] = -kInfinity;
  ExpectIds(logits, kWidth);
  logits[4400] = -3e38f;
  ExpectIds(logits, kWidth);
  logits[17] = -1e-45f;
  logits[18] = 1e-45f;
  ExpectIds(logits, kWidth);
  logits[4499] = kInfinity;
  ExpectIds(logits, kWidth);
}

TEST(ArgmaxGpuTest, RefusesNothingToChooseFrom) {
  EXPECT_EQ(Argmax(nullptr, 1, 0, nullptr, nullptr, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace fg::cuda
