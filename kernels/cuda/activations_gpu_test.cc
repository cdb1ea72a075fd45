#include "kernels/cuda/activations.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/float_testing.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/gemm_reference.h"
#include "kernels/cpu/quantize_rows_reference.h"
#include "kernels/cuda/activations_testing.h"
#include "kernels/cuda/gpu_testing.h"

namespace fg::cuda {
namespace {

using ::fg::testing::FirstUnequal;
using ::fg::testing::kRowCounts;
using ::fg::testing::RowsWithAll;

// `at` values behind an aligned address.
std::vector<float> Shifted(const std::vector<float>& x, size_t at) {
  std::vector<float> shifted(x.size() + at, 0.0f);
  std::copy(x.begin(), x.end(), shifted.begin() + static_cast<std::ptrdiff_t>(at));
  return shifted;
}

void ExpectQuantized(const std::vector<float>& x, int64_t rows, int64_t k, size_t shift) {
  std::vector<ActivationChunk> expected(static_cast<size_t>(rows * k / 32));
  QuantizeRowsContract(x.data(), k, rows, k, expected.data());
  const DeviceArray<float> in(Shifted(x, shift));
  DeviceArray<ActivationChunk> plane(expected.size());
  ExpectOk(QuantizeRows(in.data() + shift, rows, k, plane.data(), nullptr), "QuantizeRows");
  EXPECT_EQ(FirstUnequal(expected, plane.Host()), "") << rows << " rows of " << k << ", " << shift;
}

TEST(QuantizeRowsGpuTest, ContractBits) {
  for (const int64_t rows : kRowCounts) {
    for (const int64_t k : {32, 64, 256, 320, 896, 3584, 18944}) {
      const std::vector<float> x = RowsWithAll(rows, k, static_cast<uint32_t>(rows * k));
      ExpectQuantized(x, rows, k, 0);
      if (k <= 896) ExpectQuantized(x, rows, k, 1);  // a lane a value
    }
  }
}

// A NaN or an infinity in each place spoils its chunk alone; the largest value in each place, both
// signs, decides; ties; the threshold of zero chunks.
TEST(QuantizeRowsGpuTest, EveryPlaceOfAChunk) {
  std::vector<float> x;
  const float specials[] = {std::numeric_limits<float>::quiet_NaN(),
                            std::bit_cast<float>(0x7F800001u),
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            123.0f,
                            -123.0f,
                            std::numeric_limits<float>::max()};
  for (const float special : specials) {
    for (size_t at = 0; at < 32; ++at) {
      std::vector<float> chunk = testing::Gaussian(32, static_cast<uint32_t>(900 + at));
      chunk[at] = special;
      x.insert(x.end(), chunk.begin(), chunk.end());
    }
  }
  const float threshold = std::ldexp(1.0f, -100);
  for (const float largest : {std::nextafter(threshold, 0.0f), threshold, 127.0f}) {
    std::vector<float> chunk(32, 0.0f);
    chunk[3] = largest;
    const float ties[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 125.5f, -126.5f};
    for (size_t i = 0; i < std::size(ties); ++i) chunk[i + 8] = largest / 127.0f * ties[i];
    x.insert(x.end(), chunk.begin(), chunk.end());
  }
  ExpectQuantized(x, 1, static_cast<int64_t>(x.size()), 0);
  ExpectQuantized(x, 1, static_cast<int64_t>(x.size()), 3);
}

TEST(QuantizeRowsGpuTest, RefusesHalfChunks) {
  EXPECT_EQ(QuantizeRows(nullptr, 1, 33, nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(QuantizeRows(nullptr, 0, 32, nullptr, nullptr), cudaSuccess);
}

void ExpectF16Rows(const std::vector<float>& x, int64_t rows, int64_t k, size_t shift) {
  std::vector<uint16_t> expected(x.size());
  std::vector<int32_t> exponents(static_cast<size_t>(rows));
  RoundRowsToF16(CpuLevel::kPlain, x.data(), k, rows, k, expected.data(), exponents.data());
  std::vector<float> scales;
  for (const int32_t e : exponents) scales.push_back(std::ldexp(1.0f, e));
  const DeviceArray<float> in(Shifted(x, shift));
  DeviceArray<uint16_t> f16(x.size());
  DeviceArray<float> scale(static_cast<size_t>(rows));
  ExpectOk(RowsToF16(in.data() + shift, rows, k, f16.data(), scale.data(), nullptr), "RowsToF16");
  EXPECT_EQ(FirstUnequal(expected, f16.Host()), "") << rows << " rows of " << k << ", " << shift;
  EXPECT_EQ(FirstUnequal(scales, scale.Host()), "") << rows << " rows of " << k;
}

// 24576 is the longest row that a block holds; a lane takes four values, so odd lengths end within.
TEST(RowsToF16GpuTest, CpuBits) {
  for (const int64_t rows : kRowCounts) {
    for (const int64_t k : {1, 3, 32, 64, 256, 320, 333, 896, 3584, 18944}) {
      const std::vector<float> x = RowsWithAll(rows, k, static_cast<uint32_t>(rows + k));
      ExpectF16Rows(x, rows, k, 0);
      if (k <= 896) ExpectF16Rows(x, rows, k, 2);
    }
  }
  for (const int64_t k : {24572, 24575, 24576, 24577, 24580, 40000}) {
    ExpectF16Rows(RowsWithAll(9, k, static_cast<uint32_t>(k)), 9, k, 0);
  }
}

// The largest value wherever it lies, and the exponents around every power of two.
TEST(RowsToF16GpuTest, ExponentsOfEverySize) {
  constexpr int64_t kWidth = 3584;
  std::vector<float> x;
  for (int e = 10; e < 128; ++e) {
    for (const float largest : {std::ldexp(1.0f, e), std::nextafter(std::ldexp(1.0f, e), 0.0f)}) {
      std::vector<float> row = testing::Gaussian(kWidth, static_cast<uint32_t>(e));
      row[static_cast<size_t>(e * 30 % kWidth)] = e % 2 == 0 ? largest : -largest;
      x.insert(x.end(), row.begin(), row.end());
    }
  }
  const int64_t rows = static_cast<int64_t>(x.size()) / kWidth;
  ExpectF16Rows(x, rows, kWidth, 0);
  std::vector<uint16_t> f16(x.size()), contract(x.size());
  std::vector<int32_t> exponents(static_cast<size_t>(rows)), counted(exponents);
  RoundRowsToF16(CpuLevel::kPlain, x.data(), kWidth, rows, kWidth, f16.data(), exponents.data());
  RoundRowsToF16Contract(x.data(), kWidth, rows, kWidth, contract.data(), counted.data());
  EXPECT_EQ(exponents, counted);
  EXPECT_EQ(f16, contract);
}

TEST(RowsToF16GpuTest, WantsItsScale) {
  DeviceArray<uint16_t> f16(4);
  EXPECT_EQ(RowsToF16(nullptr, 1, 4, f16.data(), nullptr, nullptr), cudaErrorInvalidValue);
}

void ExpectScaleBias(int64_t rows, int64_t n, bool scaled, bool biased, size_t shift) {
  SeededValues values(static_cast<uint32_t>(rows * 7 + n));
  const std::vector<float> y = values.Floats(rows * n, 9.0f), bias = values.Floats(n, 5.0f);
  std::vector<float> scale, expected = y;
  for (int64_t r = 0; r < rows; ++r) scale.push_back(std::ldexp(1.0f, static_cast<int>(r % 5)));
  for (int64_t i = 0; i < rows * n; ++i) {
    float& v = expected[static_cast<size_t>(i)];
    if (scaled) v = v * scale[static_cast<size_t>(i / n)];
    if (biased) v = v + bias[static_cast<size_t>(i % n)];
  }
  DeviceArray<float> out(Shifted(y, shift));
  const DeviceArray<float> scale_in(scale), bias_in(bias);
  ExpectOk(ScaleBias(out.data() + shift, rows, n, scaled ? scale_in.data() : nullptr,
                     biased ? bias_in.data() : nullptr, nullptr),
           "ScaleBias");
  EXPECT_EQ(FirstUnequal(Shifted(expected, shift), out.Host()), "") << rows << " rows of " << n;
}

TEST(ScaleBiasGpuTest, EveryForm) {
  for (const int64_t rows : kRowCounts) {
    for (const int64_t n : {1, 5, 64, 320, 1001, 3584}) {
      for (const bool scaled : {false, true}) {
        for (const bool biased : {false, true}) {
          ExpectScaleBias(rows, n, scaled, biased, 0);
          if (n < 400) ExpectScaleBias(rows, n, scaled, biased, 1);
        }
      }
    }
  }
}

}  // namespace
}  // namespace fg::cuda
