// MatvecThree and MatvecGateUp against the launches that they stand for.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/activations.h"
#include "kernels/cuda/matvec_testing.h"
#include "kernels/cuda/swiglu.h"

namespace fg::cuda {
namespace {

using fg::testing::Gaussian;

struct Mix {
  const char* name;
  TensorType q, k, v;
};

constexpr Mix kMixes[] = {
    {"q4K_q4K_q6K", TensorType::kQ4_K, TensorType::kQ4_K, TensorType::kQ6_K},
    {"q6K_q4K_q4K", TensorType::kQ6_K, TensorType::kQ4_K, TensorType::kQ4_K},
    {"q4K_q4K_q4K", TensorType::kQ4_K, TensorType::kQ4_K, TensorType::kQ4_K},
    {"q6K_q6K_q6K", TensorType::kQ6_K, TensorType::kQ6_K, TensorType::kQ6_K},
    {"q4_0_q4_0_q4_0", TensorType::kQ4_0, TensorType::kQ4_0, TensorType::kQ4_0},
    {"q4_0_q5_0_q8_0", TensorType::kQ4_0, TensorType::kQ5_0, TensorType::kQ8_0},
    {"q4K_f16_q6K", TensorType::kQ4_K, TensorType::kF16, TensorType::kQ6_K},
    {"f16_f16_f16", TensorType::kF16, TensorType::kF16, TensorType::kF16},
    {"bf16_f32_q8_0", TensorType::kBF16, TensorType::kF32, TensorType::kQ8_0},
};

class MatvecThreeGpuTest : public ::testing::TestWithParam<Mix> {};

TEST_P(MatvecThreeGpuTest, EqualsThreeMatvecs) {
  const TensorType types[] = {GetParam().q, GetParam().k, GetParam().v};
  constexpr int64_t kWidth = 768;
  for (const std::vector<int64_t>& outs :
       {std::vector<int64_t>{96, 33, 17}, std::vector<int64_t>{1, 257, 3},
        std::vector<int64_t>{9000, 0, 64}, std::vector<int64_t>{16, 16}}) {
    for (const int64_t rows : {1, 3, 8}) {
      std::vector<std::unique_ptr<MatvecOnDevice>> devices;
      std::vector<std::unique_ptr<DeviceArray<float>>> biases, residuals, results;
      std::vector<std::vector<float>> expected;
      std::vector<MatvecArgs> args;
      for (size_t i = 0; i < outs.size(); ++i) {
        const uint32_t seed = static_cast<uint32_t>(100 + i);
        devices.push_back(
            std::make_unique<MatvecOnDevice>(MatvecCase(types[i], kWidth, outs[i], rows, seed)));
        biases.push_back(std::make_unique<DeviceArray<float>>(Gaussian(outs[i], seed + 10)));
        residuals.push_back(
            std::make_unique<DeviceArray<float>>(Gaussian(rows * outs[i], seed + 20)));
        results.push_back(
            std::make_unique<DeviceArray<float>>(static_cast<size_t>(rows * outs[i])));
        MatvecArgs& one = devices[i]->args;
        one.plane = devices[0]->args.plane;
        one.x = devices[0]->args.x;
        if (i != 1) one.bias = biases[i]->data();
        if (i == 1) one.residual = residuals[i]->data();
        expected.push_back(devices[i]->Run());
        args.push_back(one);
        args.back().y = results[i]->data();
      }
      ExpectOk(MatvecThree(args.data(), static_cast<int>(args.size()), nullptr), "MatvecThree");
      for (size_t i = 0; i < outs.size(); ++i) {
        ExpectSameValues(results[i]->Host(), expected[i]);
        ASSERT_FALSE(HasFatalFailure()) << "weight " << i << " out " << outs[i] << " rows " << rows;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Mixes, MatvecThreeGpuTest, ::testing::ValuesIn(kMixes),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(MatvecThreeGpu, RefusesWeightsOfTwoInputs) {
  MatvecOnDevice a(MatvecCase(TensorType::kQ4_K, 256, 3, 1, 1));
  MatvecOnDevice b(MatvecCase(TensorType::kQ4_K, 256, 3, 1, 2));
  DeviceArray<float> y(3), z(3);
  MatvecArgs args[] = {a.args, b.args};
  args[0].y = y.data();
  args[1].y = z.data();
  EXPECT_EQ(MatvecThree(args, 2, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(MatvecThree(args, 4, nullptr), cudaErrorInvalidValue);
}

class MatvecGateUpGpuTest : public ::testing::TestWithParam<TensorType> {};

bool SameChunk(const ActivationChunk& a, const ActivationChunk& b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

struct GateUp {
  MatvecOnDevice gate, up;

  GateUp(TensorType type, int64_t k, int64_t out, int64_t rows)
      : gate(MatvecCase(type, k, out, rows, 201)), up(MatvecCase(type, k, out, rows, 202)) {
    up.args.plane = gate.args.plane;
    up.args.x = gate.args.x;
  }
};

TEST_P(MatvecGateUpGpuTest, EqualsTwoMatvecsSwigluAndQuantizer) {
  const TensorType type = GetParam();
  for (const int64_t k : {int64_t{512}, int64_t{3584}}) {
    for (const int64_t out : {1, 31, 32, 96, 257, 1024}) {
      for (const int64_t rows : {1, 2, 5, 15}) {
        GateUp c(type, k, out, rows);
        const size_t count = static_cast<size_t>(rows * out);
        const bool chunked = out % 32 == 0;
        DeviceArray<float> g(c.gate.Run()), u(c.up.Run()), expected(count), y(count);
        SwigluArgs swiglu;
        swiglu.g = g.data();
        swiglu.u = u.data();
        swiglu.rows = rows;
        swiglu.n = out;
        swiglu.y = expected.data();
        ExpectOk(Swiglu(swiglu, nullptr), "Swiglu");
        const size_t chunk_count = chunked ? count / 32 : 0;
        DeviceArray<ActivationChunk> expected_chunks(chunk_count), chunks(chunk_count);
        DeviceArray<ActivationChunk> only_chunks(chunk_count);
        if (chunked) {
          ExpectOk(QuantizeRows(expected.data(), rows, out, expected_chunks.data(), nullptr),
                   "QuantizeRows");
          ExpectOk(MatvecGateUp(c.gate.args, c.up.args, nullptr, only_chunks.data(), nullptr),
                   "only chunks");
        }
        ExpectOk(MatvecGateUp(c.gate.args, c.up.args, y.data(), chunked ? chunks.data() : nullptr,
                              nullptr),
                 "MatvecGateUp");
        ExpectSameValues(y.Host(), expected.Host());
        const auto want = expected_chunks.Host(), got = chunks.Host(), only = only_chunks.Host();
        for (size_t i = 0; i < chunk_count; ++i) {
          ASSERT_TRUE(SameChunk(got[i], want[i]) && SameChunk(only[i], want[i])) << "chunk " << i;
        }
        ASSERT_FALSE(HasFatalFailure()) << "k " << k << " out " << out << " rows " << rows;
      }
    }
  }
}

TEST_P(MatvecGateUpGpuTest, EqualsTheModelThroughItsOwnSwiglu) {
  // Not through another kernel: y is far from zero and depends on both weights.
  const TensorType type = GetParam();
  const MatvecCase gate(type, 512, 32, 1, 201), up(type, 512, 32, 1, 202);
  GateUp c(type, 512, 32, 1);
  DeviceArray<float> y(32);
  ExpectOk(MatvecGateUp(c.gate.args, c.up.args, y.data(), nullptr, nullptr), "MatvecGateUp");
  const std::vector<float> got = y.Host(), g = gate.Model();
  MatvecCase same_input = up;
  same_input.x = gate.x;
  same_input.plane = gate.plane;
  const std::vector<float> u = same_input.Model();
  for (size_t i = 0; i < got.size(); ++i) {
    const double want =
        static_cast<double>(g[i]) / (1 + std::exp(-static_cast<double>(g[i]))) * u[i];
    ASSERT_TRUE(std::fabs(got[i] - want) <= 1e-6 * std::fabs(want) + 1e-30)
        << got[i] << " for " << want << " at " << i;
  }
}

TEST(MatvecGateUpGpu, RefusesWhatItCannotDo) {
  GateUp c(TensorType::kQ4_0, 256, 33, 1);
  DeviceArray<float> y(33);
  DeviceArray<ActivationChunk> chunks(2);
  EXPECT_EQ(MatvecGateUp(c.gate.args, c.up.args, y.data(), chunks.data(), nullptr),
            cudaErrorInvalidValue);  // 33 outputs are no whole chunks
  MatvecArgs other = c.up.args;
  other.out = 32;
  EXPECT_EQ(MatvecGateUp(c.gate.args, other, y.data(), nullptr, nullptr), cudaErrorInvalidValue);
  other = c.up.args;
  other.bias = y.data();
  EXPECT_EQ(MatvecGateUp(c.gate.args, other, y.data(), nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(MatvecGateUp(c.gate.args, c.up.args, nullptr, nullptr, nullptr), cudaSuccess);
}

INSTANTIATE_TEST_SUITE_P(All, MatvecGateUpGpuTest, ::testing::ValuesIn(kResidentTypes),
                         [](const auto& info) { return std::string(InfoOf(info.param).name); });

}  // namespace
}  // namespace fg::cuda
