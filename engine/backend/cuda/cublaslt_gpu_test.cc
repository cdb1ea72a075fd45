// GEMMs against float64, on shapes with every kind of edge.
#include "engine/backend/cuda/cublaslt.h"

#include <cmath>

#include "engine/backend/cuda/gpu_engine_testing.h"
#include "kernels/cuda/gpu_testing.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

using cuda::DeviceArray;
using testing::RandomValues;

// Sums in f32 of k terms stray by less than this times the sum of their magnitudes; sums in f16 and
// factors in TF32 by much more.
constexpr double kTolerance = 4e-6;

std::vector<uint16_t> ToF16(const std::vector<float>& values) {
  std::vector<uint16_t> half;
  for (const float value : values) half.push_back(F32ToF16(value));
  return half;
}

std::vector<float> FromF16(const std::vector<uint16_t>& values) {
  std::vector<float> full;
  for (const uint16_t value : values) full.push_back(F16ToF32(value));
  return full;
}

void ExpectNear64(const GemmShape& shape, const std::vector<float>& x, const std::vector<float>& w,
                  const std::vector<float>& y) {
  for (int64_t row = 0; row < shape.rows; ++row) {
    for (int64_t o = 0; o < shape.out; ++o) {
      double sum = 0, magnitude = 0;
      for (int64_t i = 0; i < shape.k; ++i) {
        const double product = double{x[row * shape.k + i]} * w[o * shape.k + i];
        sum += product;
        magnitude += std::fabs(product);
      }
      const double error = std::fabs(y[row * shape.out + o] - sum);
      ASSERT_TRUE(error <= kTolerance * magnitude)  // false for a NaN
          << "row " << row << ", out " << o << ": " << y[row * shape.out + o] << " for " << sum;
    }
  }
}

template <typename T>
std::vector<float> RunOnce(const GemmShape& shape, const DeviceArray<T>& x,
                           const DeviceArray<T>& w) {
  DeviceArray<float> y(static_cast<size_t>(shape.rows * shape.out));
  cuda::ExpectOk(testing::Device().cublaslt->Run(shape, x.data(), w.data(), y.data(), nullptr),
                 "the GEMM");
  return y.Host();
}

template <typename T>
void ExpectRight(const GemmShape& shape, const std::vector<T>& x, const std::vector<T>& w,
                 const std::vector<float>& x32, const std::vector<float>& w32) {
  const DeviceArray<T> x_there(x), w_there(w);
  const std::vector<float> first = RunOnce(shape, x_there, w_there);
  ExpectNear64(shape, x32, w32, first);
  for (int repeat = 0; repeat < 3; ++repeat) {
    const std::vector<float> again = RunOnce(shape, x_there, w_there);
    ASSERT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(float)), 0)
        << "repeat " << repeat << " has other bits";
  }
}

void RunShape(const GemmShape& shape) {
  SCOPED_TRACE((shape.type == GemmType::kF16 ? "f16 " : "f32 ") + std::to_string(shape.rows) +
               " rows, out " + std::to_string(shape.out) + ", k " + std::to_string(shape.k));
  const Status prepared = testing::Device().cublaslt->Prepare(shape);
  ASSERT_TRUE(prepared.ok()) << prepared.message();
  const std::vector<float> x = RandomValues(static_cast<size_t>(shape.rows * shape.k), 1);
  const std::vector<float> w = RandomValues(static_cast<size_t>(shape.out * shape.k), 2);
  if (shape.type == GemmType::kF32) {
    ExpectRight(shape, x, w, x, w);
  } else {
    const std::vector<uint16_t> x16 = ToF16(x), w16 = ToF16(w);
    ExpectRight(shape, x16, w16, FromF16(x16), FromF16(w16));
  }
}

class CublasLtGpu : public ::testing::TestWithParam<GemmType> {};
INSTANTIATE_TEST_SUITE_P(Types, CublasLtGpu, ::testing::Values(GemmType::kF16, GemmType::kF32),
                         [](const auto& info) {
                           return std::string(info.param == GemmType::kF16 ? "F16" : "F32");
                         });

TEST_P(CublasLtGpu, IsTheProductOnOddShapes) {
  for (const int64_t rows : {16, 17, 31, 33}) {
    for (const int64_t out : {1, 3, 32, 257}) {
      for (const int64_t k : {32, 64, 288, 896}) RunShape({GetParam(), rows, k, out});
    }
  }
}

// Rows of x and w that do not begin at multiples of 16 bytes, or of 4.
TEST_P(CublasLtGpu, IsTheProductOrRefusesInWordsWhereRowsAreNotAligned) {
  for (const int64_t k : {1, 2, 33, 100}) {
    const GemmShape shape = {GetParam(), 17, k, 5};
    const Status prepared = testing::Device().cublaslt->Prepare(shape);
    if (prepared.ok()) {
      RunShape(shape);
    } else {
      EXPECT_NE(prepared.message().find("GEMM of 17 rows, k " + std::to_string(k) + ", out 5"),
                std::string::npos)
          << prepared.message();
    }
  }
}

// What the model of the issue multiplies; float64 on a sample of the outputs would show no more
// than the small shapes do, so these are held to their own repeats.
TEST_P(CublasLtGpu, KeepsItsAlgorithmAndItsBits) {
  const GemmShape shape = {GetParam(), 512, 3584, 4608};
  auto other = CublasLt::Open("");
  ASSERT_TRUE(other.ok()) << other.status().message();
  ASSERT_TRUE((*other)->Prepare(shape).ok());
  CublasLt& cublaslt = *testing::Device().cublaslt;
  ASSERT_TRUE(cublaslt.Prepare(shape).ok());
  const std::string name = cublaslt.AlgorithmName(shape);
  EXPECT_EQ(name.find("cublaslt."), 0u);
  EXPECT_NE(name.find(".tile"), std::string::npos);
  EXPECT_NE(name.find(".stages"), std::string::npos);
  EXPECT_EQ((*other)->AlgorithmName(shape), name);
  ASSERT_TRUE(cublaslt.Prepare(shape).ok());
  EXPECT_EQ(cublaslt.AlgorithmName(shape), name);
  RecordProperty("algorithm", name);

  const size_t x_count = 512 * 3584, w_count = size_t{4608} * 3584;
  std::vector<std::vector<float>> runs;
  if (shape.type == GemmType::kF32) {
    const DeviceArray<float> x(RandomValues(x_count, 3)), w(RandomValues(w_count, 4));
    for (int i = 0; i < 3; ++i) runs.push_back(RunOnce(shape, x, w));
  } else {
    const DeviceArray<uint16_t> x(ToF16(RandomValues(x_count, 3)));
    const DeviceArray<uint16_t> w(ToF16(RandomValues(w_count, 4)));
    for (int i = 0; i < 3; ++i) runs.push_back(RunOnce(shape, x, w));
  }
  EXPECT_EQ(runs[1], runs[0]);
  EXPECT_EQ(runs[2], runs[0]);
  EXPECT_NE(runs[0][0], runs[0][1]);
}

TEST(CublasLtLimitsGpu, RefusesWhatWasNotPreparedOrIsNotAligned) {
  CublasLt& cublaslt = *testing::Device().cublaslt;
  const GemmShape shape = {GemmType::kF16, 18, 64, 32};
  DeviceArray<uint16_t> x(18 * 64), w(33 * 64);
  DeviceArray<float> y(18 * 32);
  EXPECT_EQ(cublaslt.Run(shape, x.data(), w.data(), y.data(), nullptr), cudaErrorInvalidValue);
  ASSERT_TRUE(cublaslt.Prepare(shape).ok());
  EXPECT_EQ(cublaslt.Run(shape, x.data(), w.data() + 8, y.data(), nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cublaslt.workspace_bytes(), uint64_t{32} << 20);
}

TEST(CublasLtLimitsGpu, IsAnErrorOnlyWhenAskedForWhereAbsent) {
  const Status why(ErrorKind::kDevice, "no cuBLASLt was found");
  const auto absent = CublasLt::Absent(why);
  EXPECT_EQ(absent->version(), "");
  EXPECT_EQ(absent->workspace_bytes(), 0u);
  const Status prepared = absent->Prepare({GemmType::kF16, 16, 32, 32});
  EXPECT_EQ(prepared.kind(), ErrorKind::kDevice);
  EXPECT_EQ(prepared.message(), "no cuBLASLt was found");
}

}  // namespace
}  // namespace fg
