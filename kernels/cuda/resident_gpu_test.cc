#include "kernels/cuda/resident.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cpu/quant_test_data.h"
#include "kernels/cuda/gpu_testing.h"
#include "kernels/cuda/resident_testing.h"
#include "kernels/formats/dequantize.h"
#include "kernels/formats/encode.h"
#include "kernels/formats/half.h"

namespace fg::cuda {
namespace {

using fg::testing::Bits;
using fg::testing::Gaussian;
using fg::testing::RandomBlocks;

bool IsFloat(TensorType type) { return InfoOf(type).block_values == 1; }

std::vector<int64_t> Widths(TensorType type) {
  if (IsFloat(type)) return {1, 2, 7, 8, 33, 256, 1001};
  if (InfoOf(type).block_values == kBlock32) return {32, 64, 96, 288, 320, 896, 4544};
  return {256, 512, 768, 3584};
}

// [rows][RowBytes] as in a file.
std::vector<uint8_t> FileRows(TensorType type, int64_t rows, int64_t k, uint32_t seed) {
  if (!IsFloat(type)) return RandomBlocks(type, rows, k, seed);
  std::vector<float> values = Gaussian(rows * k, seed);
  for (size_t i = 0; i < values.size(); i += 3) values[i] *= 1e-6f;  // subnormals in f16
  std::vector<uint8_t> bytes(static_cast<size_t>(RowBytes(type, rows * k)));
  EXPECT_TRUE(EncodeRow(type, values.data(), rows * k, bytes.data()));
  return bytes;
}

std::vector<float> Values(TensorType type, const std::vector<uint8_t>& file, int64_t rows,
                          int64_t k) {
  std::vector<float> values(static_cast<size_t>(rows * k));
  EXPECT_TRUE(DequantizeRow(type, file.data(), rows * k, values.data()));
  return values;
}

class ResidentGpuTest : public ::testing::TestWithParam<TensorType> {};

TEST_P(ResidentGpuTest, GathersRowsByteForByte) {
  const TensorType type = GetParam();
  for (const int64_t k : Widths(type)) {
    for (const int64_t rows : {1, 2, 3, 255, 257}) {
      const std::vector<uint8_t> file = FileRows(type, rows, k, static_cast<uint32_t>(k));
      const std::vector<uint8_t> expected = ResidentOf(type, file, rows, k);
      DeviceArray<uint8_t> from(file), to(expected.size());
      ExpectOk(GatherResidentRows(type, from.data(), rows, k, to.data(), nullptr), "gather");
      ASSERT_EQ(to.Host(), expected) << "k " << k << " rows " << rows;
    }
  }
}

TEST_P(ResidentGpuTest, GathersFromAnEvenAddress) {
  const TensorType type = GetParam();
  const std::vector<uint8_t> file = FileRows(type, 5, 512, 3);
  std::vector<uint8_t> shifted(2, 0x77);
  shifted.insert(shifted.end(), file.begin(), file.end());
  const std::vector<uint8_t> expected = ResidentOf(type, file, 5, 512);
  DeviceArray<uint8_t> from(shifted), to(expected.size());
  ExpectOk(GatherResidentRows(type, from.data() + 2, 5, 512, to.data(), nullptr), "gather");
  ASSERT_EQ(to.Host(), expected);
}

TEST_P(ResidentGpuTest, DequantizesToF16BitForBit) {
  const TensorType type = GetParam();
  constexpr unsigned long long kNone = INT64_MAX;
  for (const int64_t k : Widths(type)) {
    for (const int64_t rows : {1, 3, 33}) {
      const std::vector<uint8_t> file = FileRows(type, rows, k, static_cast<uint32_t>(k) + 1);
      const std::vector<float> values = Values(type, file, rows, k);
      DeviceArray<uint8_t> w(ResidentOf(type, file, rows, k));
      // Once aligned, once two bytes on.
      for (const size_t shift : {0, 1}) {
        DeviceArray<uint16_t> f16(values.size() + shift);
        DeviceArray<unsigned long long> beyond(std::vector<unsigned long long>{kNone});
        ExpectOk(
            DequantizeToF16(type, w.data(), rows, k, f16.data() + shift, beyond.data(), nullptr),
            "dequantize");
        const std::vector<uint16_t> got = f16.Host();
        for (size_t i = 0; i < values.size(); ++i) {
          ASSERT_EQ(got[i + shift], F32ToF16(values[i]))
              << values[i] << " at " << i << " of k " << k << " rows " << rows;
        }
        if (shift == 1) {
          ASSERT_EQ(got[0], 0xA5A5);
        }
        ASSERT_EQ(beyond.Host()[0], kNone);
      }
    }
  }
}

TEST_P(ResidentGpuTest, EmbedsRowsBitForBit) {
  const TensorType type = GetParam();
  constexpr int64_t kRows = 40;
  for (const int64_t k : Widths(type)) {
    const std::vector<uint8_t> file = FileRows(type, kRows, k, static_cast<uint32_t>(k) + 2);
    const std::vector<float> values = Values(type, file, kRows, k);
    const std::vector<int32_t> ids = {39, 0, 7, 7, 38, 1};
    DeviceArray<uint8_t> table(ResidentOf(type, file, kRows, k));
    DeviceArray<int32_t> device_ids(ids);
    DeviceArray<float> y(ids.size() * static_cast<size_t>(k));
    ExpectOk(Embed(type, table.data(), k, device_ids.data(), static_cast<int64_t>(ids.size()),
                   y.data(), nullptr),
             "embed");
    const std::vector<float> got = y.Host();
    for (size_t i = 0; i < got.size(); ++i) {
      const size_t row = static_cast<size_t>(ids[i / static_cast<size_t>(k)]);
      const float want = values[row * static_cast<size_t>(k) + i % static_cast<size_t>(k)];
      ASSERT_EQ(Bits(got[i]), Bits(want)) << got[i] << " for " << want << " at " << i << " k " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ResidentGpuTest, ::testing::ValuesIn(kResidentTypes),
                         [](const auto& info) { return std::string(InfoOf(info.param).name); });

// Where f16 ends: values that round to infinity are reported, the lowest place first.
TEST(ResidentGpu, ReportsTheFirstValueBeyondF16) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr int64_t kRows = 5, kColumns = 1001;
  for (const float special : {65520.0f, -65520.0f, 1e30f, infinity, -infinity, nan}) {
    for (const size_t at : {size_t{0}, size_t{7}, size_t{2003}, size_t{5004}}) {
      std::vector<float> values = Gaussian(kRows * kColumns, 9);
      values[at] = special;
      values[5004] = special;
      values[(at + 5) % 2000] = 65519.996f;  // rounds to 65504
      const bool overwritten = (at + 5) % 2000 == at;
      ASSERT_FALSE(overwritten);
      DeviceArray<float> w(values);
      DeviceArray<uint16_t> f16(values.size());
      DeviceArray<unsigned long long> beyond(std::vector<unsigned long long>{INT64_MAX});
      ExpectOk(DequantizeToF16(TensorType::kF32, w.data(), kRows, kColumns, f16.data(),
                               beyond.data(), nullptr),
               "dequantize");
      EXPECT_EQ(beyond.Host()[0], at) << special;
      const std::vector<uint16_t> got = f16.Host();
      for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], F32ToF16(values[i])) << i;
    }
  }
}

TEST(ResidentGpu, RefusesTypesWithoutAKernel) {
  DeviceArray<uint8_t> bytes(256);
  DeviceArray<uint16_t> f16(256);
  DeviceArray<unsigned long long> beyond(1);
  EXPECT_EQ(GatherResidentRows(TensorType::kQ5_K, bytes.data(), 1, 256, bytes.data(), nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(
      DequantizeToF16(TensorType::kQ5_K, bytes.data(), 1, 256, f16.data(), beyond.data(), nullptr),
      cudaErrorInvalidValue);
  EXPECT_EQ(
      DequantizeToF16(TensorType::kF16, bytes.data(), 0, 256, f16.data(), beyond.data(), nullptr),
      cudaSuccess);
}

}  // namespace
}  // namespace fg::cuda
