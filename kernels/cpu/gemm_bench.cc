// Speed of the prefill GEMMs on one thread, in multiply-adds a second and in bytes of weights read.
#include "kernels/cpu/gemm.h"

#include <benchmark/benchmark.h>

#include "kernels/cpu/float_testing.h"

namespace fg {
namespace {

constexpr int64_t kK = 1024;
constexpr int64_t kOut = 1024;

void Report(benchmark::State& state, int64_t rows, int64_t weight_bytes) {
  const double macs = static_cast<double>(state.iterations() * rows) * kK * kOut;
  state.counters["MAC/s"] = benchmark::Counter(macs, benchmark::Counter::kIsRate);
  state.SetBytesProcessed(state.iterations() * kK * kOut * weight_bytes);
}

bool Unsupported(benchmark::State& state, CpuLevel level) {
  if (level <= BestCpuLevel()) return false;
  state.SkipWithError("this processor lacks the level");
  return true;
}

// The arguments of a benchmark: level, rows.
using Gemm16 = decltype(&GemmF16);

void BenchGemm16(benchmark::State& state, Gemm16 gemm) {
  const CpuLevel level = static_cast<CpuLevel>(state.range(0));
  const int64_t rows = state.range(1);
  if (Unsupported(state, level)) return;
  SeededValues values(1);
  const std::vector<uint16_t> w = values.Halves(kOut * kK);
  const std::vector<uint16_t> a = values.Halves(rows * kK);
  const std::vector<int32_t> exponents(static_cast<size_t>(rows), 0);
  std::vector<float> y(static_cast<size_t>(rows * kOut));
  for (auto _ : state) {
    gemm(level, w.data(), a.data(), exponents.data(), rows, kK, nullptr, {0, kOut}, y.data(), kOut);
    benchmark::ClobberMemory();
  }
  Report(state, rows, 2);
}

void BenchGemmF32(benchmark::State& state) {
  const CpuLevel level = static_cast<CpuLevel>(state.range(0));
  const int64_t rows = state.range(1);
  if (Unsupported(state, level)) return;
  SeededValues values(1);
  const std::vector<float> w = values.Floats(kOut * kK);
  const std::vector<float> x = values.Floats(rows * kK);
  std::vector<float> y(static_cast<size_t>(rows * kOut));
  for (auto _ : state) {
    GemmF32(level, w.data(), x.data(), kK, rows, kK, nullptr, {0, kOut}, y.data(), kOut);
    benchmark::ClobberMemory();
  }
  Report(state, rows, 4);
}

void BenchRoundRows(benchmark::State& state) {
  const CpuLevel level = static_cast<CpuLevel>(state.range(0));
  const int64_t rows = state.range(1);
  if (Unsupported(state, level)) return;
  const std::vector<float> x = SeededValues(1).Floats(rows * kK);
  std::vector<uint16_t> a(static_cast<size_t>(rows * kK));
  std::vector<int32_t> exponents(static_cast<size_t>(rows));
  for (auto _ : state) {
    RoundRowsToF16(level, x.data(), kK, rows, kK, a.data(), exponents.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * rows * kK * 6);
}

void Arguments(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"level", "rows"});
  for (const CpuLevel level : SupportedCpuLevels()) {
    for (const int64_t rows : {16, 64, 512}) bench->Args({static_cast<int64_t>(level), rows});
  }
}

BENCHMARK_CAPTURE(BenchGemm16, f16, &GemmF16)->Apply(Arguments);
BENCHMARK_CAPTURE(BenchGemm16, bf16, &GemmBF16)->Apply(Arguments);
BENCHMARK(BenchGemmF32)->Apply(Arguments);
BENCHMARK(BenchRoundRows)->Apply(Arguments);

}  // namespace
}  // namespace fg
