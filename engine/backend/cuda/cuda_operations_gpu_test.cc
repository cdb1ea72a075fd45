// The GPU's operations beside the CPU's: the same bits where the arithmetic fixes them, else within
// a bound that the next coarser arithmetic breaks.
#include "engine/backend/cuda/cuda_operations.h"

#include <cmath>
#include <numeric>

#include "engine/backend/cpu/cpu_operations.h"
#include "engine/backend/cuda/gpu_engine_testing.h"
#include "kernels/cuda/attention.h"
#include "kernels/formats/dequantize.h"
#include "kernels/formats/encode.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

using testing::RandomValues;

// Both devices' operations under one environment.
struct Both {
  explicit Both(const std::vector<std::string>& environment = {})
      : gates(testing::GatesOf(environment, &ledger)), cpu(gates, &cpu_ledger, &memory) {
    auto made = CudaOperations::Make(gates, &ledger, &memory, testing::Device().info,
                                     testing::Device().cublaslt.get());
    EXPECT_TRUE(made.ok()) << made.status().message();
    if (made.ok()) cuda = std::move(made).value();
  }
  Ledger ledger, cpu_ledger;
  MemoryBook memory;
  Gates gates;
  CpuOperations cpu;
  std::unique_ptr<Operations> cuda;
};

void ExpectOk(const Status& status) { ASSERT_TRUE(status.ok()) << status.message(); }

template <typename T>
void ExpectSameBits(const std::vector<T>& got, const std::vector<T>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::memcmp(&got[i], &want[i], sizeof(T)), 0) << "at " << i;
  }
}

// Values of every size, with a zero chunk and one that is not finite.
std::vector<float> WildValues(size_t count) {
  std::vector<float> x = RandomValues(count, 11);
  for (size_t i = 0; i < count; ++i) {
    x[i] = std::ldexp(x[i], static_cast<int>(i / 32 % 60) - 30);
  }
  for (size_t i = 32; i < 64 && i < count; ++i) x[i] = 0;
  if (count > 70) x[70] = INFINITY;
  return x;
}

TEST(CudaOperationsGpu, QuantizeRowsHasTheCpusBits) {
  Both both;
  for (const int64_t rows : {1, 3, 17}) {
    const int64_t k = 96;
    const std::vector<float> x = WildValues(static_cast<size_t>(rows * k));
    std::vector<ActivationChunk> got(rows * k / 32), want(rows * k / 32);
    ExpectOk(both.cuda->QuantizeRows(x.data(), rows, k, got.data()));
    ExpectOk(both.cpu.QuantizeRows(x.data(), rows, k, want.data()));
    ExpectSameBits(got, want);
  }
  EXPECT_EQ(both.ledger.counts().dispatch, both.cpu_ledger.counts().dispatch);
}

TEST(CudaOperationsGpu, ExpAndSwigluHaveTheCpusBits) {
  Both both;
  std::vector<float> x = RandomValues(3 * 1001, 12);
  for (float& value : x) value *= 120;
  x[0] = NAN;
  x[1] = -INFINITY;
  x[2] = INFINITY;
  std::vector<float> got(x.size()), want(x.size());
  ExpectOk(both.cuda->Exp(x.data(), static_cast<int64_t>(x.size()), got.data()));
  ExpectOk(both.cpu.Exp(x.data(), static_cast<int64_t>(x.size()), want.data()));
  for (size_t i = 1; i < x.size(); ++i) ASSERT_EQ(got[i], want[i]) << x[i];
  EXPECT_TRUE(std::isnan(got[0]) && std::isnan(want[0]));

  for (float& value : x) value = std::isfinite(value) ? value / 4 : 1.0f;
  const std::vector<float> u = RandomValues(x.size(), 13);
  ExpectOk(both.cuda->Swiglu(x.data(), u.data(), 3, 1001, got.data()));
  ExpectOk(both.cpu.Swiglu(x.data(), u.data(), 3, 1001, want.data()));
  ExpectSameBits(got, want);
  EXPECT_EQ(both.ledger.counts().dispatch, both.cpu_ledger.counts().dispatch);
}

TEST(CudaOperationsGpu, RopeHasTheCpusBits) {
  Both both;
  std::vector<int32_t> positions(17);
  for (int i = 0; i < 17; ++i) positions[i] = 1000 - 37 * i;
  std::vector<float> got = RandomValues(17 * 3 * 64, 14), want = got;
  ExpectOk(both.cuda->Rope(got.data(), 17, 3, 64, positions.data(), 1e6));
  ExpectOk(both.cpu.Rope(want.data(), 17, 3, 64, positions.data(), 1e6));
  ExpectSameBits(got, want);
}

TEST(CudaOperationsGpu, RmsNormIsNear) {
  Both both;
  const std::vector<float> x = RandomValues(5 * 896, 15), w = RandomValues(896, 16);
  std::vector<float> got(x.size()), want(x.size());
  ExpectOk(both.cuda->RmsNorm(x.data(), w.data(), 5, 896, 1e-6f, got.data()));
  ExpectOk(both.cpu.RmsNorm(x.data(), w.data(), 5, 896, 1e-6f, want.data()));
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_TRUE(std::fabs(got[i] - want[i]) <= 2e-6f * std::fabs(want[i])) << "at " << i;
  }
  EXPECT_EQ(both.ledger.counts().dispatch, both.cpu_ledger.counts().dispatch);
}

void CompareAttention(const AttentionShape& shape, const std::vector<int32_t>& at,
                      const std::string& label, float tolerance) {
  SCOPED_TRACE(label + ", " + std::to_string(shape.rows) + " rows, head " +
               std::to_string(shape.head_dim));
  Both both;
  const auto count = static_cast<size_t>(shape.rows * shape.heads * shape.head_dim);
  const auto cached = static_cast<size_t>(shape.positions * shape.kv_heads * shape.head_dim);
  const std::vector<float> q = RandomValues(count, 17);
  std::vector<uint16_t> keys, values;
  for (const float value : RandomValues(cached, 18)) keys.push_back(F32ToF16(value));
  for (const float value : RandomValues(cached, 19)) values.push_back(F32ToF16(value));
  std::vector<float> got(count), want(count);
  ExpectOk(
      both.cuda->Attention(shape, q.data(), keys.data(), values.data(), at.data(), got.data()));
  ExpectOk(both.cpu.Attention(shape, q.data(), keys.data(), values.data(), at.data(), want.data()));
  for (size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(std::fabs(got[i] - want[i]) <= tolerance) << i << ": " << got[i] << ", " << want[i];
  }
  const Phase phase = PhaseOfRows(shape.rows);
  const std::map<Ledger::DispatchKey, uint64_t> labels = {{{phase, "attention", label}, 1}};
  EXPECT_EQ(both.ledger.counts().dispatch, labels);
}

std::vector<int32_t> Consecutive(int64_t rows, int32_t first) {
  std::vector<int32_t> at(static_cast<size_t>(rows));
  std::iota(at.begin(), at.end(), first);
  return at;
}

TEST(CudaOperationsGpu, AttentionIsNearByTheKernelThatItsRowsTake) {
  for (const int64_t head_dim : {64, 128}) {
    for (const int64_t rows : {1, 15}) {
      CompareAttention({rows, 4, 2, head_dim, 300}, Consecutive(rows, 270), "attention.few", 1e-3f);
    }
    for (const int64_t rows : {16, 17, 65}) {
      CompareAttention({rows, 4, 2, head_dim, 300}, Consecutive(rows, 200), "attention.many",
                       1e-2f);
    }
  }
  // A head that tensor cores do not serve, and rows in no order.
  CompareAttention({17, 4, 2, 16, 300}, Consecutive(17, 0), "attention.few", 1e-3f);
  std::vector<int32_t> shuffled = Consecutive(16, 100);
  std::swap(shuffled[3], shuffled[9]);
  CompareAttention({16, 4, 4, 64, 300}, shuffled, "attention.few", 1e-3f);
}

constexpr TensorType kTypes[] = {TensorType::kF32,  TensorType::kF16,  TensorType::kBF16,
                                 TensorType::kQ4_0, TensorType::kQ5_0, TensorType::kQ8_0,
                                 TensorType::kQ4_K, TensorType::kQ6_K};

struct TestWeight {
  TestWeight(TensorType type, int64_t k, int64_t out)
      : data(static_cast<size_t>(RowBytes(type, k) * out)), values(static_cast<size_t>(k * out)) {
    const std::vector<float> from = RandomValues(values.size(), 20);
    for (int64_t o = 0; o < out; ++o) {
      std::byte* row = data.data() + o * RowBytes(type, k);
      EXPECT_TRUE(EncodeRow(type, &from[o * k], k, row));
      EXPECT_TRUE(DequantizeRow(type, row, k, &values[o * k]));
    }
    view = {"w", type, data.data(), k, out};
  }
  std::vector<std::byte> data;
  std::vector<float> values;
  WeightView view;
};

// Both sum the same products in f32, in two orders.
void ExpectNear(const TestWeight& weight, const std::vector<float>& x,
                const std::vector<float>& got, const std::vector<float>& want) {
  const int64_t k = weight.view.k, out = weight.view.out;
  for (size_t i = 0; i < got.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / out, o = static_cast<int64_t>(i) % out;
    float magnitude = 1;  // of the bias
    for (int64_t j = 0; j < k; ++j) {
      magnitude += std::fabs(weight.values[o * k + j] * x[row * k + j]);
    }
    ASSERT_TRUE(std::fabs(got[i] - want[i]) <= 8e-6f * magnitude)
        << "row " << row << ", out " << o << ": " << got[i] << " for " << want[i];
  }
}

TEST(CudaOperationsGpu, MatmulIsNearTheCpusPathOfTheSameName) {
  for (const TensorType type : kTypes) {
    const TestWeight weight(type, 512, 67);
    const std::vector<float> bias = RandomValues(67, 21);
    for (const int64_t rows : {1, 2, 15, 16, 17, 33}) {
      SCOPED_TRACE(std::string(InfoOf(type).name) + ", " + std::to_string(rows) + " rows");
      Both both;
      const std::vector<float> x = RandomValues(static_cast<size_t>(rows * 512), 22);
      std::vector<float> got(rows * 67), want(rows * 67);
      const float* added = rows % 2 == 0 ? bias.data() : nullptr;
      ExpectOk(both.cuda->Matmul(weight.view, x.data(), rows, added, got.data()));
      ExpectOk(both.cpu.Matmul(weight.view, x.data(), rows, added, want.data()));
      ExpectNear(weight, x, got, want);
      // The same labels, and the GEMM's algorithm beside them.
      auto labels = both.ledger.counts().dispatch;
      const auto gemms = std::erase_if(
          labels, [](const auto& entry) { return std::get<1>(entry.first) == "gemm"; });
      EXPECT_EQ(gemms, rows >= 16 ? 1u : 0u);
      EXPECT_EQ(labels, both.cpu_ledger.counts().dispatch);
      EXPECT_EQ(both.memory.entry(MemoryCategory::kWeights).now, 0u);
      EXPECT_EQ(both.memory.entry(MemoryCategory::kF16Cache).now, 0u);
    }
  }
}

// k no multiple of 32, and the setting that forces the rows: slices of 15 have each row's own bits.
TEST(CudaOperationsGpu, RowsHaveTheBitsThatTheyHaveAlone) {
  for (const auto& [type, k] : {std::pair{TensorType::kF16, 65},
                                {TensorType::kF32, 100},
                                {TensorType::kQ4_K, 256},
                                {TensorType::kQ6_K, 512}}) {
    SCOPED_TRACE(InfoOf(type).name);
    Both both({"FG_PREFILL_GEMM=0"});
    const TestWeight weight(type, k, 33);
    const int64_t rows = 32;
    const std::vector<float> x = RandomValues(static_cast<size_t>(rows * k), 23);
    std::vector<float> got(rows * 33), alone(rows * 33), want(rows * 33);
    ExpectOk(both.cuda->Matmul(weight.view, x.data(), rows, nullptr, got.data()));
    ExpectOk(both.cpu.Matmul(weight.view, x.data(), rows, nullptr, want.data()));
    for (int64_t row = 0; row < rows; ++row) {
      ExpectOk(both.cuda->Matmul(weight.view, &x[row * k], 1, nullptr, &alone[row * 33]));
    }
    ExpectSameBits(got, alone);
    ExpectNear(weight, x, got, want);
  }
}

// A hidden value beyond f16's 65504: the row's scaling keeps it finite.
TEST(CudaOperationsGpu, ValuesBeyondF16StayFinite) {
  const TestWeight weight(TensorType::kQ4_0, 64, 8);
  for (const int64_t rows : {15, 16, 17}) {
    Both both;
    std::vector<float> x = RandomValues(static_cast<size_t>(rows * 64), 24);
    x[5] = 70000;
    x[3 * 64] = -3e8f;
    std::vector<float> got(rows * 8), want(rows * 8);
    ExpectOk(both.cuda->Matmul(weight.view, x.data(), rows, nullptr, got.data()));
    ExpectOk(both.cpu.Matmul(weight.view, x.data(), rows, nullptr, want.data()));
    for (const float value : got) ASSERT_TRUE(std::isfinite(value));
    ExpectNear(weight, x, got, want);
  }
}

TEST(CudaOperationsGpu, WhatIsNotThereIsRefused) {
  Both both;
  const std::string why = ": the CUDA backend has no int8 prefill family yet";
  const float x[32] = {};
  float y[32];
  ActivationTile tile;
  const Status quantize = both.cuda->QuantizeTiles(x, 1, 32, &tile);
  EXPECT_EQ(quantize.kind(), ErrorKind::kRefused);
  EXPECT_EQ(quantize.message(), "quantize_tiles" + why);
  EXPECT_EQ(both.cuda->RmsNormTiles(x, x, 1, 32, 0, 1, y, &tile).message(), "rms_norm_tiles" + why);
  EXPECT_EQ(both.cuda->SwigluTiles(x, x, 1, 32, 2, y, &tile).message(), "swiglu_tiles" + why);

  const Status odd = both.cuda->Matmul({"w", TensorType::kQ4_K, x, 288, 1}, x, 1, nullptr, y);
  EXPECT_EQ(odd.kind(), ErrorKind::kBadModel);
  EXPECT_EQ(odd.message(), "weight 'w': q4_K rows are multiples of 256 values, found 288");
  EXPECT_EQ(both.cuda->Matmul({"w", TensorType::kQ2_K, x, 256, 1}, x, 1, nullptr, y).message(),
            "weight 'w': no kernels for type q2_K");
  EXPECT_EQ(both.cuda->Matmul({"w", TensorType::kF32, x, 32, 0}, x, 1, nullptr, y).message(),
            "weight 'w': a weight needs at least one row and one value");
}

TEST(CudaOperationsGpu, WithoutCublasLtOnlyWideMatmulsFail) {
  Ledger ledger;
  MemoryBook memory;
  const Gates gates = testing::GatesOf({}, &ledger);
  const auto absent = CublasLt::Absent(Status(ErrorKind::kDevice, "no cuBLASLt was found"));
  auto made = CudaOperations::Make(gates, &ledger, &memory, testing::Device().info, absent.get());
  ASSERT_TRUE(made.ok()) << made.status().message();
  const TestWeight weight(TensorType::kQ8_0, 64, 8);
  const std::vector<float> x = RandomValues(16 * 64, 25);
  std::vector<float> y(16 * 8);
  ExpectOk((*made)->Matmul(weight.view, x.data(), 15, nullptr, y.data()));
  EXPECT_EQ((*made)->Matmul(weight.view, x.data(), 16, nullptr, y.data()).message(),
            "no cuBLASLt was found");
  ExpectOk((*made)->Matmul(weight.view, x.data(), 15, nullptr, y.data()));
}

}  // namespace
}  // namespace fg
