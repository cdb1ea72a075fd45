// One-row products: bytes of weights a second (each weight is read once), against 2 operations a
// weight. 4096 x 4096 lies beyond the caches' private levels.
#include "kernels/cpu/matvec.h"

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "kernels/cpu/quant_test_data.h"
#include "kernels/cpu/quantize_rows.h"
#include "kernels/formats/encode.h"

namespace fg {
namespace {

void Report(benchmark::State& state, size_t weight_bytes, int64_t k, int64_t outs) {
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(weight_bytes));
  state.counters["MAC/s"] = benchmark::Counter(static_cast<double>(k * outs),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

void BM_MatvecQuantized(benchmark::State& state, CpuLevel level, TensorType type) {
  const int64_t k = state.range(0), outs = state.range(1);
  const std::vector<uint8_t> w = testing::RandomBlocks(type, outs, k, 1);
  const std::vector<float> x = testing::Activations(1, k, 2);
  std::vector<ActivationChunk> a(static_cast<size_t>(k / 32));
  std::vector<float> y(static_cast<size_t>(outs));
  QuantizeRows(level, x.data(), k, 1, k, a.data());
  for (auto _ : state) {
    MatvecQuantized(level, type, w.data(), a.data(), k, nullptr, {0, outs}, y.data());
    benchmark::ClobberMemory();
  }
  Report(state, w.size(), k, outs);
}

void BM_MatvecFloat(benchmark::State& state, CpuLevel level, TensorType type) {
  const int64_t k = state.range(0), outs = state.range(1);
  const std::vector<float> values = testing::Gaussian(k * outs, 1);
  std::vector<uint8_t> w(static_cast<size_t>(RowBytes(type, k * outs)));
  EncodeRow(type, values.data(), k * outs, w.data());
  const std::vector<float> x = testing::Gaussian(k, 2);
  std::vector<float> y(static_cast<size_t>(outs));
  for (auto _ : state) {
    MatvecFloat(level, type, w.data(), x.data(), k, nullptr, {0, outs}, y.data());
    benchmark::ClobberMemory();
  }
  Report(state, w.size(), k, outs);
}

const int kRegistered = [] {
  for (const CpuLevel level : SupportedCpuLevels()) {
    const std::string suffix = std::string("/") + CpuLevelName(level);
    for (const TensorType type : {TensorType::kQ4_0, TensorType::kQ5_0, TensorType::kQ8_0,
                                  TensorType::kQ4_K, TensorType::kQ6_K}) {
      const std::string name = std::string("Matvec/") + InfoOf(type).name + suffix;
      benchmark::RegisterBenchmark(name.c_str(), BM_MatvecQuantized, level, type)
          ->Args({1024, 1024})
          ->Args({4096, 4096});
    }
    for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kBF16}) {
      const std::string name = std::string("Matvec/") + InfoOf(type).name + suffix;
      benchmark::RegisterBenchmark(name.c_str(), BM_MatvecFloat, level, type)
          ->Args({1024, 1024})
          ->Args({4096, 4096});
    }
  }
  return 0;
}();

}  // namespace
}  // namespace fg
