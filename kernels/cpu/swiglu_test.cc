#include "kernels/cpu/swiglu.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/cpu/float_testing.h"
#include "kernels/cpu/swiglu_reference.h"

namespace fg {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Swiglu, EveryLevelGivesTheContractsBitsNearTheExactValue) {
  for (const float limit : {0.01f, 1.0f, 10.0f, 100.0f, 1e30f}) {
    SeededValues values(3);
    const std::vector<float> g = values.Floats(4099, limit);
    const std::vector<float> u = values.Floats(4099, 3.0f);
    std::vector<float> contract;
    std::vector<double> exact, bound;
    for (size_t i = 0; i < g.size(); ++i) {
      contract.push_back(SwigluContract(g[i], u[i]));
      exact.push_back(SwigluExact(g[i], u[i]));
      bound.push_back(SwigluBound(g[i], u[i]));
    }
    for (const CpuLevel level : SupportedCpuLevels()) {
      GuardedBuffer<float> y(4099);
      Swiglu(level, g.data(), u.data(), 4099, y.data());
      EXPECT_EQ(FirstDifference(contract, y.values()), "") << CpuLevelName(level) << limit;
      EXPECT_EQ(FirstOutside(exact, bound, y.values()), "") << CpuLevelName(level) << limit;
      EXPECT_TRUE(y.GuardsIntact());
    }
  }
}

TEST(Swiglu, EveryLengthInPlaceOfEither) {
  for (const CpuLevel level : SupportedCpuLevels()) {
    for (int64_t n = 1; n <= 40; ++n) {
      const std::vector<float> g = SeededValues(1).Floats(n, 8.0f);
      const std::vector<float> u = SeededValues(2).Floats(n, 8.0f);
      std::vector<float> contract;
      for (size_t i = 0; i < g.size(); ++i) contract.push_back(SwigluContract(g[i], u[i]));
      GuardedBuffer<float> apart(n);
      Swiglu(level, g.data(), u.data(), n, apart.data());
      EXPECT_EQ(FirstDifference(contract, apart.values()), "");
      EXPECT_TRUE(apart.GuardsIntact());
      std::vector<float> first = g, second = u;
      Swiglu(level, first.data(), u.data(), n, first.data());
      Swiglu(level, g.data(), second.data(), n, second.data());
      EXPECT_EQ(FirstDifference(contract, first), "");
      EXPECT_EQ(FirstDifference(contract, second), "");
    }
  }
}

TEST(Swiglu, Edges) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> g = {0.0f, -0.0f, -1000.0f, 1000.0f, nan, 1.0f, kInfinity, -kInfinity};
  const std::vector<float> u = {2.0f, 2.0f, 2.0f, 2.0f, 1.0f, nan, 1.0f, 1.0f};
  // -inf divided by 1 + inf is no number; the formula is the definition.
  const std::vector<float> expected = {0.0f, -0.0f, -0.0f, 2000.0f, nan, nan, kInfinity, nan};
  for (const CpuLevel level : SupportedCpuLevels()) {
    std::vector<float> y(g.size());
    Swiglu(level, g.data(), u.data(), static_cast<int64_t>(g.size()), y.data());
    EXPECT_EQ(FirstDifference(expected, y), "") << CpuLevelName(level);
  }
}

}  // namespace
}  // namespace fg
