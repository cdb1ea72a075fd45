#include "kernels/cuda/matvec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cpu/mmq_reference.h"
#include "kernels/cuda/matvec_testing.h"

namespace fg::cuda {
namespace {

using fg::testing::Bits;
using fg::testing::Gaussian;

constexpr int64_t kOuts[] = {1, 2, 3, 31, 33, 255, 257, 1000};

std::vector<int64_t> Widths(TensorType type) {
  if (IsFloatType(type)) return {1, 2, 7, 8, 9, 33, 256, 1001, 3584};
  if (InfoOf(type).block_values == kBlock32) return {32, 64, 288, 320, 4544};
  return {256, 512, 3584, 18944};
}

// A narrow and a wide K, for what need not be tried with all.
std::vector<int64_t> TwoWidths(TensorType type) {
  if (IsFloatType(type)) return {33, 1024};
  if (InfoOf(type).block_values == kBlock32) return {64, 4544};
  return {256, 3584};
}

class MatvecGpuTest : public ::testing::TestWithParam<TensorType> {};

TEST_P(MatvecGpuTest, EqualsTheModelBitForBit) {
  for (const int64_t k : Widths(GetParam())) {
    const MatvecCase all(GetParam(), k, 1000, 1, static_cast<uint32_t>(k));
    const std::vector<float> model = all.Model();
    for (const float value : model) ASSERT_TRUE(std::isfinite(value));
    for (const int64_t out : kOuts) {
      MatvecCase some = all;
      some.out = out;
      MatvecOnDevice device(some);
      ExpectSameValues(device.Run(), {model.begin(), model.begin() + out});
      ASSERT_FALSE(HasFatalFailure()) << "k " << k << " out " << out;
    }
  }
}

TEST_P(MatvecGpuTest, AddsTheBiasAndThenTheResidual) {
  constexpr int64_t kRows = 3, kOut = 257;
  for (const int64_t k : TwoWidths(GetParam())) {
    const MatvecCase c(GetParam(), k, kOut, kRows, 21);
    const std::vector<float> model = c.Model();
    const std::vector<float> bias = Gaussian(kOut, 23), residual = Gaussian(kRows * kOut, 24, 10);
    MatvecOnDevice device(c);
    DeviceArray<float> device_bias(bias);
    for (const int form : {1, 2, 3, 4}) {  // bias, residual, both, both in place
      std::vector<float> expected = model;
      for (size_t i = 0; i < expected.size(); ++i) {
        if (form != 2) expected[i] = expected[i] + bias[i % kOut];
        if (form != 1) expected[i] = expected[i] + residual[i];
      }
      DeviceArray<float> device_residual(residual), y(residual.size());
      device.args.bias = form != 2 ? device_bias.data() : nullptr;
      device.args.residual = form != 1 ? device_residual.data() : nullptr;
      device.args.y = form == 4 ? device_residual.data() : y.data();
      ExpectOk(Matvec(device.args, nullptr), "Matvec");
      ExpectSameValues(form == 4 ? device_residual.Host() : y.Host(), expected);
      ASSERT_FALSE(HasFatalFailure()) << "k " << k << " form " << form;
    }
  }
}

// Each row of 1 to 15 has the bits that it has alone.
TEST_P(MatvecGpuTest, RowsAreWhatEachIsAlone) {
  for (const int64_t k : Widths(GetParam())) {
    const int64_t out = k > 5000 ? 33 : 257;
    MatvecOnDevice device(MatvecCase(GetParam(), k, out, kMostMatvecRows, 31));
    const MatvecArgs all = device.args;
    std::vector<std::vector<float>> alone;
    device.args.rows = 1;
    for (int64_t r = 0; r < kMostMatvecRows; ++r) {
      device.args.plane = k % 32 == 0 ? all.plane + r * (k / 32) : all.plane;
      device.args.x = all.x + r * k;
      alone.push_back(device.Run());
    }
    device.args = all;
    for (int64_t rows = 1; rows <= kMostMatvecRows; ++rows) {
      device.args.rows = rows;
      std::vector<float> expected;
      for (int64_t r = 0; r < rows; ++r) {
        const std::vector<float>& one = alone[static_cast<size_t>(r)];
        expected.insert(expected.end(), one.begin(), one.end());
      }
      ExpectSameValues(device.Run(), expected);
      ASSERT_FALSE(HasFatalFailure()) << "k " << k << " rows " << rows;
    }
  }
}

TEST_P(MatvecGpuTest, RepeatsItsBits) {
  MatvecOnDevice device(MatvecCase(GetParam(), TwoWidths(GetParam())[1], 1000, 5, 41));
  const std::vector<float> first = device.Run();
  for (int i = 0; i < 20; ++i) {
    const std::vector<float> again = device.Run();
    for (size_t at = 0; at < first.size(); ++at) ASSERT_EQ(Bits(again[at]), Bits(first[at])) << at;
  }
}

// `second` reads `bytes` at `input`, which `make` launches the writing of.
template <class Make>
void ExpectWaits(const Make& make, MatvecOnDevice* second, void* input, size_t bytes) {
  make();
  ExpectOk(cudaDeviceSynchronize(), "the input");
  const std::vector<float> expected = second->Run();
  DeviceArray<float> y(expected.size());
  second->args.y = y.data();
  for (int i = 0; i < 20; ++i) {
    ExpectOk(cudaMemsetAsync(input, 0, bytes, nullptr), "clear");
    make();
    ExpectOk(Matvec(second->args, nullptr), "second");
    ExpectSameValues(y.Host(), expected);
  }
}

// Right after the launch that makes its input: the two may overlap in all but what it reads.
TEST_P(MatvecGpuTest, WaitsForTheLaunchBefore) {
  const TensorType type = GetParam();
  MatvecOnDevice first(MatvecCase(type, 1024, 2048, 1, 51));
  MatvecOnDevice second(MatvecCase(type, 2048, 33, 1, 52));
  DeviceArray<float> x(2048);
  DeviceArray<ActivationChunk> plane(2048 / 32);
  first.args.y = x.data();
  second.args.x = x.data();
  second.args.plane = plane.data();
  if (IsFloatType(type)) {
    ExpectWaits([&] { ExpectOk(Matvec(first.args, nullptr), "first"); }, &second, x.data(),
                2048 * sizeof(float));
  } else {
    const auto make = [&] {
      ExpectOk(MatvecGateUp(first.args, first.args, nullptr, plane.data(), nullptr), "first");
    };
    ExpectWaits(make, &second, plane.data(), plane.size() * sizeof(ActivationChunk));
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatvecGpuTest, ::testing::ValuesIn(kResidentTypes),
                         [](const auto& info) { return std::string(InfoOf(info.param).name); });

class MatvecQuantizedGpuTest : public ::testing::TestWithParam<TensorType> {};

// The float64 value of the contract's sum. A lane rounds twice a chunk, the tree four times, and
// each product has two roundings of its own.
TEST_P(MatvecQuantizedGpuTest, LiesWithinTheBoundOfTheExactSum) {
  for (const int64_t k : Widths(GetParam())) {
    const MatvecCase c(GetParam(), k, 257, 1, static_cast<uint32_t>(k) + 61);
    const size_t outs = static_cast<size_t>(c.out);
    std::vector<double> exact(outs), magnitude(outs);
    MmqExact({c.type, c.file.data(), c.plane.data(), 1, k, nullptr, nullptr, c.out}, {0, c.out},
             exact.data(), magnitude.data());
    const double steps = std::ceil(static_cast<double>(k) / 32 / 16);
    const double bound = 1.01 * (2 * steps + 4 + 2) * std::numeric_limits<float>::epsilon() / 2;
    const std::vector<float> y = MatvecOnDevice(c).Run();
    for (size_t o = 0; o < outs; ++o) {
      ASSERT_TRUE(std::fabs(y[o] - exact[o]) <= bound * magnitude[o])
          << y[o] << " for " << exact[o] << " at " << o << " k " << k;
    }
  }
}

// The largest codes, scales and activations of either sign.
TEST_P(MatvecQuantizedGpuTest, LargestSums) {
  const TensorType type = GetParam();
  for (const int fill : {0x00, 0xFF, 0x80, 0x7F, 0x0F, 0xF0}) {
    for (const int sign : {1, -1}) {
      MatvecCase c(type, 512, 33, 1, 71);
      std::fill(c.file.begin(), c.file.end(), static_cast<uint8_t>(fill));
      const size_t step = static_cast<size_t>(InfoOf(type).block_bytes);
      for (size_t at = 0; at < c.file.size(); at += step) {
        const uint16_t one = 0x3C00;
        std::memcpy(c.file.data() + at + (type == TensorType::kQ6_K ? 208 : 0), &one, 2);
        if (type == TensorType::kQ4_K) std::memcpy(c.file.data() + at + 2, &one, 2);
      }
      for (ActivationChunk& chunk : c.plane) {
        std::fill(chunk.q, chunk.q + 32, static_cast<int8_t>(127 * sign));
        chunk.sum[0] = chunk.sum[1] = static_cast<int16_t>(16 * 127 * sign);
        chunk.d = 1;
      }
      ExpectSameValues(MatvecOnDevice(c).Run(), c.Model());
      ASSERT_FALSE(HasFatalFailure()) << "fill " << fill << " sign " << sign;
    }
  }
}

// One chunk with an infinity, of one row among several: every output of that row is a NaN, the
// other rows are as before.
TEST_P(MatvecQuantizedGpuTest, NanReachesEveryOutputOfItsRowAlone) {
  const MatvecCase clean(GetParam(), 512, 257, 3, 81);
  for (const int64_t at : {0, 40, 255, 400, 511}) {
    MatvecCase c = clean;
    c.x[static_cast<size_t>(512 + at)] = -std::numeric_limits<float>::infinity();
    c.plane = PlaneOf(c.x, c.rows, c.k);
    std::vector<float> expected = clean.Model();
    const std::vector<float> y = MatvecOnDevice(c).Run();
    for (size_t i = 0; i < y.size(); ++i) {
      if (i / 257 == 1) {
        ASSERT_TRUE(std::isnan(y[i])) << y[i] << " at " << i;
      } else {
        ASSERT_EQ(Bits(y[i]), Bits(expected[i])) << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatvecQuantizedGpuTest,
                         ::testing::Values(TensorType::kQ4_0, TensorType::kQ5_0, TensorType::kQ8_0,
                                           TensorType::kQ4_K, TensorType::kQ6_K),
                         [](const auto& info) { return std::string(InfoOf(info.param).name); });

class MatvecFloatGpuTest : public ::testing::TestWithParam<TensorType> {};

// Weights and activations that are not aligned to 16 bytes give the bits that aligned ones give.
TEST_P(MatvecFloatGpuTest, AlignmentDoesNotMoveBits) {
  const int64_t k = 1024, rows = 3, out = 33;
  const MatvecCase c(GetParam(), k, out, rows, 91);
  const std::vector<float> expected = MatvecOnDevice(c).Run();
  ExpectSameValues(expected, c.Model());
  const size_t value = static_cast<size_t>(InfoOf(c.type).block_bytes);
  std::vector<uint8_t> shifted_w(value, 0);
  shifted_w.insert(shifted_w.end(), c.file.begin(), c.file.end());
  std::vector<float> shifted_x(1, 0.0f);
  shifted_x.insert(shifted_x.end(), c.x.begin(), c.x.end());
  MatvecOnDevice device(c);
  DeviceArray<uint8_t> w(shifted_w);
  DeviceArray<float> x(shifted_x);
  const MatvecArgs aligned = device.args;
  device.args.w = w.data() + value;
  ExpectSameValues(device.Run(), expected);
  device.args = aligned;
  device.args.x = x.data() + 1;
  ExpectSameValues(device.Run(), expected);
}

TEST_P(MatvecFloatGpuTest, NanAndInfinityPass) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float special : {infinity, -infinity, nan, 3e38f}) {
    for (const size_t at : {size_t{0}, size_t{5}, size_t{32}, size_t{36}}) {
      MatvecCase c(GetParam(), 37, 33, 1, 95);
      c.x[at] = special;
      ExpectSameValues(MatvecOnDevice(c).Run(), c.Model());
      ASSERT_FALSE(HasFatalFailure()) << special << " at " << at;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatvecFloatGpuTest,
                         ::testing::Values(TensorType::kF32, TensorType::kF16, TensorType::kBF16),
                         [](const auto& info) { return std::string(InfoOf(info.param).name); });

TEST(MatvecGpu, RefusesWhatItCannotRead) {
  MatvecOnDevice device(MatvecCase(TensorType::kQ4_K, 512, 3, 1, 99));
  DeviceArray<float> y(3);
  device.args.y = y.data();
  const MatvecArgs right = device.args;
  const auto refused = [&](auto change) {
    MatvecArgs args = right;
    change(args);
    return Matvec(args, nullptr) == cudaErrorInvalidValue;
  };
  EXPECT_TRUE(refused([](MatvecArgs& a) { a.k = 288; }));
  EXPECT_TRUE(refused([](MatvecArgs& a) { a.k = 0; }));
  EXPECT_TRUE(refused([](MatvecArgs& a) { a.rows = 0; }));
  EXPECT_TRUE(refused([](MatvecArgs& a) { a.rows = 16; }));
  EXPECT_TRUE(refused([](MatvecArgs& a) { a.type = TensorType::kQ5_K; }));
  EXPECT_TRUE(refused([](MatvecArgs& a) { a.plane = nullptr; }));
  EXPECT_TRUE(refused([](MatvecArgs& a) { a.w = static_cast<const uint8_t*>(a.w) + 8; }));
  EXPECT_TRUE(refused([](MatvecArgs& a) { a.y = nullptr; }));
  EXPECT_TRUE(refused([](MatvecArgs& a) { a.k = int64_t{256} << 20; }));  // no block holds a row
  EXPECT_EQ(MatvecThree(&right, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(Matvec(right, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

}  // namespace
}  // namespace fg::cuda
