#include "kernels/cuda/rms_norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/float_testing.h"
#include "kernels/cpu/rms_norm_reference.h"
#include "kernels/cuda/activations.h"
#include "kernels/cuda/activations_testing.h"
#include "kernels/cuda/gpu_testing.h"

namespace fg::cuda {
namespace {

using ::fg::testing::FirstUnequal;
using ::fg::testing::kRowCounts;
using ::fg::testing::RowsWithAll;

constexpr float kEps = 1e-6f;

// The tree over 32 values: l with l^16, ^8, ^4, ^2, ^1, as lane 0 sees it.
float TreeOf32(std::vector<float> v) {
  for (size_t step = 16; step > 0; step /= 2) {
    for (size_t l = 0; l < step; ++l) v[l] = v[l] + v[l + step];
  }
  return v[0];
}

// rms_norm.h's order in plain C++. One row.
std::vector<float> InOrder(const float* x, const float* w, int64_t n) {
  const size_t lanes = static_cast<size_t>(RmsNormLanes(n));
  std::vector<float> lane(lanes, 0.0f), warps(32, 0.0f);
  for (int64_t i = 0; i < n; ++i) {
    float& ss = lane[static_cast<size_t>(i) % lanes];
    ss = std::fma(x[i], x[i], ss);
  }
  for (size_t warp = 0; warp < lanes / 128; ++warp) {
    std::vector<float> threads;
    for (size_t t = 0; t < 32; ++t) {
      const float* four = lane.data() + 4 * (32 * warp + t);
      threads.push_back((four[0] + four[1]) + (four[2] + four[3]));
    }
    warps[warp] = TreeOf32(threads);
  }
  const float s = 1.0f / std::sqrt(TreeOf32(warps) / static_cast<float>(n) + kEps);
  std::vector<float> y;
  for (int64_t i = 0; i < n; ++i) y.push_back((x[i] * s) * w[i]);
  return y;
}

struct Inputs {
  int64_t rows, n;
  std::vector<float> x, add, scale, weight;

  Inputs(int64_t rows_, int64_t n_) : rows(rows_), n(n_) {
    x = RowsWithAll(rows, n, static_cast<uint32_t>(rows * 3 + n));
    add = testing::Gaussian(rows * n, static_cast<uint32_t>(rows + n), 3);
    weight = testing::Gaussian(n, static_cast<uint32_t>(n));
    for (int64_t r = 0; r < rows; ++r) scale.push_back(std::ldexp(1.0f, static_cast<int>(r % 4)));
  }
  std::vector<float> Sum(bool scaled) const {
    std::vector<float> sum;
    for (size_t i = 0; i < x.size(); ++i) {
      const float s = scaled ? scale[i / static_cast<size_t>(n)] : 1.0f;
      sum.push_back(add[i] * s + x[i]);
    }
    return sum;
  }
};

std::vector<float> AllInOrder(const std::vector<float>& x, const Inputs& in) {
  std::vector<float> y;
  for (int64_t r = 0; r < in.rows; ++r) {
    const std::vector<float> row = InOrder(x.data() + r * in.n, in.weight.data(), in.n);
    y.insert(y.end(), row.begin(), row.end());
  }
  return y;
}

RmsNormArgs Base(const Inputs& in, const DeviceArray<float>& x, const DeviceArray<float>& weight) {
  RmsNormArgs args;
  args.x = x.data();
  args.weight = weight.data();
  args.eps = kEps;
  args.rows = in.rows;
  args.n = in.n;
  return args;
}

// 8192 is the longest row that a block holds in registers.
const std::vector<int64_t> kWidths = {1,    3,    32,   33,   64,   256,  320,   896,  897,
                                      3584, 5000, 8188, 8192, 8193, 8200, 18944, 20001};

TEST(RmsNormGpuTest, BitsOfTheStatedOrder) {
  for (const int64_t n : kWidths) {
    for (const int64_t rows : kRowCounts) {
      if (rows > 17 && n > 3584) continue;
      const Inputs in(rows, n);
      const DeviceArray<float> x(in.x), weight(in.weight);
      DeviceArray<float> y(in.x.size());
      RmsNormArgs args = Base(in, x, weight);
      args.y = y.data();
      ExpectOk(RmsNorm(args, nullptr), "RmsNorm");
      EXPECT_EQ(FirstDifference(AllInOrder(in.x, in), y.Host()), "") << rows << " rows of " << n;
    }
  }
}

// The bound of kernels/cpu/rms_norm_reference.h holds here too: no sum is deeper than n/16 + 5.
TEST(RmsNormGpuTest, NearTheExactOne) {
  for (const int64_t n : kWidths) {
    const std::vector<float> row = testing::Activations(1, std::max<int64_t>(n, 256), 5);
    Inputs in(1, n);
    in.x.assign(row.begin(), row.begin() + n);
    const DeviceArray<float> x(in.x), weight(in.weight);
    DeviceArray<float> y(in.x.size());
    RmsNormArgs args = Base(in, x, weight);
    args.y = y.data();
    ExpectOk(RmsNorm(args, nullptr), "RmsNorm");
    const RmsNormExactResult exact = RmsNormExact(in.x.data(), in.weight.data(), n, kEps);
    EXPECT_EQ(FirstOutside(exact.y, exact.bound, y.Host()), "") << n;
  }
}

// Everything at once against one step after the other; where the sum lies is a matter of `alias`:
// 0 by itself, 1 over x, 2 over add.
void ExpectFused(int64_t rows, int64_t n, bool scaled, int alias) {
  const Inputs in(rows, n);
  const std::vector<float> sum = in.Sum(scaled);
  const std::vector<float> expected = AllInOrder(sum, in);
  const size_t count = in.x.size(), row_count = static_cast<size_t>(rows);
  DeviceArray<float> x(in.x), add(in.add), own(count), y(count), f16_scale(row_count);
  const DeviceArray<float> weight(in.weight), scale(in.scale);
  DeviceArray<uint16_t> f16(count);
  DeviceArray<ActivationChunk> chunks(n % 32 == 0 ? count / 32 : 0);
  RmsNormArgs args = Base(in, x, weight);
  args.add = add.data();
  args.add_scale = scaled ? scale.data() : nullptr;
  args.sum = alias == 0 ? own.data() : alias == 1 ? x.data() : add.data();
  args.y = y.data();
  args.f16 = f16.data();
  args.f16_scale = f16_scale.data();
  args.chunks = n % 32 == 0 ? chunks.data() : nullptr;
  ExpectOk(RmsNorm(args, nullptr), "RmsNorm");
  const std::string where = std::to_string(rows) + " rows of " + std::to_string(n);
  const DeviceArray<float>& at = alias == 0 ? own : alias == 1 ? x : add;
  EXPECT_EQ(FirstDifference(sum, at.Host()), "") << where << ", alias " << alias;
  EXPECT_EQ(FirstDifference(expected, y.Host()), "") << where << ", alias " << alias;
  EXPECT_EQ(FirstDifference(alias == 1 ? sum : in.x, x.Host()), "") << where;
  EXPECT_EQ(FirstDifference(alias == 2 ? sum : in.add, add.Host()), "") << where;

  DeviceArray<uint16_t> f16_after(count);
  DeviceArray<float> scale_after(row_count);
  ExpectOk(RowsToF16(y.data(), rows, n, f16_after.data(), scale_after.data(), nullptr), "f16");
  EXPECT_EQ(FirstUnequal(f16_after.Host(), f16.Host()), "") << where;
  EXPECT_EQ(FirstUnequal(scale_after.Host(), f16_scale.Host()), "") << where;
  if (n % 32 != 0) return;
  DeviceArray<ActivationChunk> chunks_after(count / 32);
  ExpectOk(QuantizeRows(y.data(), rows, n, chunks_after.data(), nullptr), "chunks");
  EXPECT_EQ(FirstUnequal(chunks_after.Host(), chunks.Host()), "") << where;
}

TEST(RmsNormGpuTest, FusedFormsHaveTheBitsOfTheSteps) {
  for (const int64_t n : {32, 64, 256, 320, 333, 896, 3584, 8192, 18944}) {
    for (const int64_t rows : kRowCounts) {
      if (rows > 17 && n > 896) continue;
      for (int alias = 0; alias < 3; ++alias) ExpectFused(rows, n, rows % 2 == 0, alias);
    }
  }
}

// Each form by itself, and a row's bits whatever stands beside it and wherever the row lies.
TEST(RmsNormGpuTest, FormsAloneAndRowsAlone) {
  for (const int64_t n : {64, 896, 3584, 18944}) {
    const Inputs in(16, n);
    const size_t count = in.x.size();
    const DeviceArray<float> x(in.x), weight(in.weight);
    DeviceArray<float> y(count), scale(16), alone(count + 1), scale_alone(16);
    DeviceArray<uint16_t> f16(count), f16_alone(count);
    DeviceArray<ActivationChunk> chunks(count / 32), chunks_alone(count / 32);
    RmsNormArgs args = Base(in, x, weight);
    args.y = y.data();
    args.f16 = f16.data();
    args.f16_scale = scale.data();
    args.chunks = chunks.data();
    ExpectOk(RmsNorm(args, nullptr), "together");
    for (int64_t r = 0; r < 16; ++r) {
      RmsNormArgs one = Base(in, x, weight);
      one.x += r * n;
      one.rows = 1;
      one.y = alone.data() + 1 + r * n;  // never aligned to 16 bytes
      ExpectOk(RmsNorm(one, nullptr), "y alone");
      one.y = nullptr;
      one.f16 = f16_alone.data() + r * n;
      one.f16_scale = scale_alone.data() + r;
      ExpectOk(RmsNorm(one, nullptr), "f16 alone");
      one.f16 = nullptr;
      one.f16_scale = nullptr;
      one.chunks = chunks_alone.data() + r * n / 32;
      ExpectOk(RmsNorm(one, nullptr), "chunks alone");
    }
    std::vector<float> shifted = alone.Host();
    shifted.erase(shifted.begin());
    EXPECT_EQ(FirstUnequal(y.Host(), shifted), "") << n;
    EXPECT_EQ(FirstUnequal(f16.Host(), f16_alone.Host()), "") << n;
    EXPECT_EQ(FirstUnequal(scale.Host(), scale_alone.Host()), "") << n;
    EXPECT_EQ(FirstUnequal(chunks.Host(), chunks_alone.Host()), "") << n;
  }
}

TEST(RmsNormGpuTest, RefusesWhatItCannotWrite) {
  RmsNormArgs args;
  args.rows = 1;
  args.n = 33;
  ActivationChunk* const chunks = reinterpret_cast<ActivationChunk*>(256);
  args.chunks = chunks;
  EXPECT_EQ(RmsNorm(args, nullptr), cudaErrorInvalidValue);
  args.chunks = nullptr;
  args.f16 = reinterpret_cast<uint16_t*>(256);
  EXPECT_EQ(RmsNorm(args, nullptr), cudaErrorInvalidValue);
  args.rows = 0;
  args.f16 = nullptr;
  EXPECT_EQ(RmsNorm(args, nullptr), cudaSuccess);
}

}  // namespace
}  // namespace fg::cuda
