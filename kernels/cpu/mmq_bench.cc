// Int8 matrix products: time, multiply-accumulates and bytes. Weights are read once a row block,
// the rows' plane once for eight outputs (AVX2) and stays in cache.
#include "kernels/cpu/mmq.h"

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "kernels/cpu/quant_test_data.h"
#include "kernels/cpu/quantize_rows.h"

namespace fg {
namespace {

void BM_Mmq(benchmark::State& state, CpuLevel level, MmqForm form, TensorType type) {
  const int64_t rows = state.range(0), k = state.range(1), outs = state.range(2);
  const std::vector<uint8_t> w = testing::RandomBlocks(type, outs, k, 1);
  const std::vector<float> x = testing::Activations(rows, k, 2);
  std::vector<ActivationChunk> a(static_cast<size_t>(rows * k / 32));
  std::vector<float> y(static_cast<size_t>(rows * outs));
  QuantizeRows(level, x.data(), k, rows, k, a.data());
  const MmqArgs args = {type, w.data(), a.data(), rows, k, nullptr, y.data(), outs};
  for (auto _ : state) {
    Mmq(level, form, args, {0, outs});
    benchmark::ClobberMemory();
  }
  const double macs = static_cast<double>(rows * k * outs);
  state.counters["MAC/s"] = benchmark::Counter(macs, benchmark::Counter::kIsIterationInvariantRate);
  const size_t bytes = w.size() + a.size() * sizeof(a[0]) + y.size() * sizeof(float);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}

void BM_QuantizeRows(benchmark::State& state, CpuLevel level) {
  const int64_t rows = state.range(0), k = state.range(1);
  const std::vector<float> x = testing::Activations(rows, k, 2);
  std::vector<ActivationChunk> a(static_cast<size_t>(rows * k / 32));
  for (auto _ : state) {
    QuantizeRows(level, x.data(), k, rows, k, a.data());
    benchmark::ClobberMemory();
  }
  const size_t bytes = x.size() * sizeof(float) + a.size() * sizeof(a[0]);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}

const int kRegistered = [] {
  const struct {
    MmqForm form;
    TensorType type;
    const char* name;
  } variants[] = {{MmqForm::kGeneric, TensorType::kQ4_0, "generic/q4_0"},
                  {MmqForm::kGeneric, TensorType::kQ4_K, "generic/q4_K"},
                  {MmqForm::kGeneric, TensorType::kQ6_K, "generic/q6_K"},
                  {MmqForm::kRaw, TensorType::kQ4_K, "raw/q4_K"},
                  {MmqForm::kNibble, TensorType::kQ4_K, "nibble/q4_K"}};
  for (const CpuLevel level : SupportedCpuLevels()) {
    const std::string suffix = std::string("/") + CpuLevelName(level);
    for (const auto& v : variants) {
      benchmark::RegisterBenchmark(("Mmq/" + std::string(v.name) + suffix).c_str(), BM_Mmq, level,
                                   v.form, v.type)
          ->Args({64, 1024, 1024})
          ->Args({16, 1024, 1024});
    }
    benchmark::RegisterBenchmark(("QuantizeRows" + suffix).c_str(), BM_QuantizeRows, level)
        ->Args({64, 1024});
  }
  return 0;
}();

}  // namespace
}  // namespace fg
