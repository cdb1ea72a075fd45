// What the tests of the CPU's operations share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "engine/backend/cpu/cpu_context.h"
#include "engine/model/weight_view.h"
#include "engine/testing/test_engine.h"
#include "kernels/formats/encode.h"

namespace fg::testing {

using Environment = std::vector<std::string>;

inline constexpr float kSentinel = 12345.0f;
inline constexpr size_t kGuard = 16;

struct Fixture {
  explicit Fixture(const Environment& environment)
      : gates(GatesOf(environment, &ledger)), context(gates, &ledger, &memory) {}

  uint64_t Launches(Phase phase) const { return ledger.counts().launches[static_cast<int>(phase)]; }
  uint64_t Dispatched(Phase phase, const char* op, const char* label) const {
    const auto found = ledger.counts().dispatch.find({phase, op, label});
    return found == ledger.counts().dispatch.end() ? 0 : found->second;
  }

  Ledger ledger;
  MemoryBook memory;
  Gates gates;
  CpuContext context;
};

inline std::vector<float> RandomValues(size_t count, uint64_t seed, float spread = 1.0f) {
  std::mt19937_64 random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    value = spread * static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1.0);
  }
  return values;
}

// An output with guards on both sides.
class Guarded {
 public:
  explicit Guarded(size_t count) : values_(count + 2 * kGuard, kSentinel) {
    std::fill(values_.begin() + kGuard, values_.end() - kGuard, std::nanf(""));
  }
  float* data() { return values_.data() + kGuard; }
  std::vector<float> Take() {
    for (size_t i = 0; i < kGuard; ++i) {
      EXPECT_EQ(values_[i], kSentinel);
      EXPECT_EQ(values_[values_.size() - 1 - i], kSentinel);
    }
    return {values_.begin() + kGuard, values_.end() - kGuard};
  }

 private:
  std::vector<float> values_;
};

inline bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return !a.empty() && a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * 4) == 0;
}

struct Weight {
  Weight(TensorType type, int64_t k, int64_t out, uint64_t seed) {
    const std::vector<float> values = RandomValues(k * out, seed, std::sqrt(3.0f / k));
    data.resize(out * RowBytes(type, k));
    for (int64_t row = 0; row < out; ++row) {
      EXPECT_TRUE(EncodeRow(type, &values[row * k], k, data.data() + row * RowBytes(type, k)));
    }
    view = {"w", type, data.data(), k, out};
  }
  std::vector<std::byte> data;
  WeightView view;
};

// Largest error; NaN where a value is not finite. Values are of unit variance.
inline double Error(const std::vector<float>& got, const std::vector<double>& want) {
  if (got.size() != want.size() || got.empty()) return std::nan("");
  double error = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!std::isfinite(got[i])) return std::nan("");
    error = std::max(error, std::fabs(got[i] - want[i]));
  }
  return error;
}

}  // namespace fg::testing
