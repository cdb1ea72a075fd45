#include "kernels/cuda/elementwise.h"

#include <gtest/gtest.h>

#include <bit>

#include "kernels/cpu/exp.h"
#include "kernels/cpu/float_testing.h"
#include "kernels/cuda/activations_testing.h"
#include "kernels/cuda/gpu_testing.h"

namespace fg::cuda {
namespace {

using ::fg::testing::FirstUnequal;

TEST(AddGpuTest, OneRoundingAndInPlace) {
  for (const int64_t n : {1, 2, 3, 4, 31, 896, 3584, 4096, 4097, 3584 * 17, 1000003}) {
    std::vector<float> a = testing::RowsWithAll(1, n, static_cast<uint32_t>(n));
    std::vector<float> b = testing::Gaussian(n, static_cast<uint32_t>(n + 1), 1e-3f);
    a[0] = 0x1p-149f, b[static_cast<size_t>(n / 2)] = -0.0f;
    std::vector<float> expected;
    for (size_t i = 0; i < a.size(); ++i) expected.push_back(a[i] + b[i]);
    DeviceArray<float> x(a), y(b), sum(a.size());
    ExpectOk(Add(x.data(), y.data(), n, sum.data(), nullptr), "Add");
    EXPECT_EQ(FirstDifference(expected, sum.Host()), "") << n;
    EXPECT_EQ(FirstUnequal(a, x.Host()), "") << n;
    ExpectOk(Add(x.data(), y.data(), n, y.data(), nullptr), "over b");
    EXPECT_EQ(FirstUnequal(sum.Host(), y.Host()), "") << n;
    const DeviceArray<float> again(b);
    ExpectOk(Add(x.data(), again.data(), n, x.data(), nullptr), "over a");
    EXPECT_EQ(FirstUnequal(sum.Host(), x.Host()), "") << n;
    if (n == 1) continue;
    ExpectOk(Add(again.data() + 1, again.data(), n - 1, x.data() + 1, nullptr), "not aligned");
    std::vector<float> odd = {x.Host()[0]};
    for (size_t i = 0; i + 1 < b.size(); ++i) odd.push_back(b[i + 1] + b[i]);
    EXPECT_EQ(FirstDifference(odd, x.Host()), "") << n;
  }
}

void ExpectExp(const std::vector<float>& x) {
  std::vector<float> expected;
  for (const float v : x) expected.push_back(ExpF32(v));
  const DeviceArray<float> in(x);
  DeviceArray<float> y(x.size());
  ExpectOk(Exp(in.data(), static_cast<int64_t>(x.size()), y.data(), nullptr), "Exp");
  EXPECT_EQ(FirstUnequal(expected, y.Host()), "");
}

TEST(ExpGpuTest, CpuBits) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 1021) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  ExpectExp(x);
  x.clear();
  // All around the ends of the range, and around the halves of ln2 where n changes.
  for (const float edge : {exp_constants::kMax, exp_constants::kMin, 88.37626f, -87.33f,
                           0.34657359f, -0.34657359f, 1.0397208f, -60.0f}) {
    for (int i = -50000; i < 50000; ++i) {
      x.push_back(std::bit_cast<float>(std::bit_cast<uint32_t>(edge) + static_cast<uint32_t>(i)));
    }
  }
  x.push_back(std::bit_cast<float>(0x7F800001u));
  ExpectExp(x);
}

}  // namespace
}  // namespace fg::cuda
