// Int8 matrix products: multiply-accumulates a second, and their share of what the level's multiply
// instruction reaches on registers alone (`peak`), measured before and after each case.
//   kernels_cpu_mmq_bench --benchmark_filter='tiles/q4_K.*avx512'
#include "kernels/cpu/mmq.h"

#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/cpu/mmq_tiles.h"
#include "kernels/cpu/peak.h"
#include "kernels/cpu/quant_test_data.h"
#include "kernels/cpu/quantize_rows.h"
#include "kernels/cpu/quantize_tiles.h"
#include "kernels/cpu/weight_planes.h"

namespace fg {
namespace {

double ThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// MACs a second of this thread's CPU time, the best of some short runs.
double Peak(CpuLevel level) {
  const int64_t macs = 80000000, rounds = macs / Int8PeakMacs(level);
  double best = 0;
  for (int run = 0; run < 20; ++run) {
    const double start = ThreadSeconds();
    benchmark::DoNotOptimize(RunInt8Peak(level, rounds, 7, 5));
    best = std::max(best, static_cast<double>(macs) / (ThreadSeconds() - start));
  }
  return best;
}

// Runs `product` until the time is enough. Books MACs a second, and the share of the peak that the
// fastest run has: like the peak, what the core does while nobody else uses it.
template <typename Product>
void Measure(benchmark::State& state, CpuLevel level, double macs, Product product) {
  const double before = Peak(level);
  double fastest = 1e9;
  for (auto _ : state) {
    const double start = ThreadSeconds();
    product();
    benchmark::ClobberMemory();
    fastest = std::min(fastest, ThreadSeconds() - start);
  }
  const double peak = std::max(before, Peak(level));
  state.counters["MAC/s"] = benchmark::Counter(macs, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["peak"] = peak;
  state.counters["best"] = macs / fastest;
  state.counters["share"] = macs / fastest / peak;
}

void BM_Mmq(benchmark::State& state, CpuLevel level, MmqForm form, TensorType type) {
  const int64_t rows = state.range(0), k = state.range(1), outs = state.range(2);
  const std::vector<uint8_t> w = testing::RandomBlocks(type, outs, k, 1);
  const std::vector<float> x = testing::Activations(rows, k, 2);
  std::vector<ActivationChunk> a(static_cast<size_t>(rows * k / 32));
  std::vector<float> y(static_cast<size_t>(rows * outs));
  QuantizeRows(level, x.data(), k, rows, k, a.data());
  const MmqArgs args = {type, w.data(), a.data(), rows, k, nullptr, y.data(), outs};
  Measure(state, level, static_cast<double>(rows * k * outs), [&] {
    Mmq(level, form, args, {0, outs});
  });
}

void BM_MmqTiles(benchmark::State& state, CpuLevel level, TensorType type, bool plane) {
  const int64_t rows = state.range(0), k = state.range(1), outs = state.range(2);
  const std::vector<uint8_t> w = testing::RandomBlocks(type, outs, k, 1);
  const std::vector<float> x = testing::Activations(rows, k, 2);
  std::vector<ActivationTile> a(static_cast<size_t>(TileCount(rows) * k / 32));
  std::vector<float> y(static_cast<size_t>(rows * outs));
  QuantizeTiles(level, x.data(), k, rows, k, {0, TileCount(rows)}, a.data());
  std::vector<ScalePair> scales;
  std::vector<ExpandedChunkQ6_K> expanded;
  if (plane && type == TensorType::kQ4_K) {
    scales.resize(ScalePlaneBytes(k, outs) / sizeof(ScalePair));
    BuildScalePlane(w.data(), k, outs, {0, outs}, scales.data());
  } else if (plane) {
    expanded.resize(ExpandedPlaneBytes(k, outs) / sizeof(ExpandedChunkQ6_K));
    BuildExpandedPlane(w.data(), k, {0, outs}, expanded.data());
  }
  const MmqTilesArgs args = {.type = type,
                             .w = w.data(),
                             .scales = scales.empty() ? nullptr : scales.data(),
                             .expanded = expanded.empty() ? nullptr : expanded.data(),
                             .a = a.data(),
                             .rows = rows,
                             .k = k,
                             .out_total = outs,
                             .bias = nullptr,
                             .y = y.data(),
                             .ldy = outs};
  Measure(state, level, static_cast<double>(rows * k * outs), [&] {
    MmqTiles(level, args, {0, outs});
  });
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

void BM_QuantizeTiles(benchmark::State& state, CpuLevel level) {
  const int64_t rows = state.range(0), k = state.range(1);
  const std::vector<float> x = testing::Activations(rows, k, 2);
  std::vector<ActivationTile> a(static_cast<size_t>(TileCount(rows) * k / 32));
  for (auto _ : state) {
    QuantizeTiles(level, x.data(), k, rows, k, {0, TileCount(rows)}, a.data());
    benchmark::ClobberMemory();
  }
  const size_t bytes = x.size() * sizeof(float) + a.size() * sizeof(a[0]);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}

// rows, k, outs: a prompt of 512 tokens through the two widths of a 1.5B model's FFN, and fewer.
void Shapes(benchmark::internal::Benchmark* b, CpuLevel level) {
  b->Args({64, 1536, 1024});
  if (level == CpuLevel::kPlain) return;
  b->Args({16, 1536, 1024})->Args({512, 1536, 1024})->Args({512, 8960, 512});
}

void RegisterForms(CpuLevel level, const std::string& suffix) {
  const char* names[] = {"generic", "raw", "nibble"};
  for (const MmqForm form : {MmqForm::kGeneric, MmqForm::kRaw, MmqForm::kNibble}) {
    for (const TensorType type : {TensorType::kQ4_0, TensorType::kQ5_0, TensorType::kQ8_0,
                                  TensorType::kQ4_K, TensorType::kQ6_K}) {
      if (!MmqSupports(form, type)) continue;
      const std::string name =
          std::string(names[static_cast<int>(form)]) + "/" + InfoOf(type).name + suffix;
      Shapes(benchmark::RegisterBenchmark(name.c_str(), BM_Mmq, level, form, type), level);
    }
  }
}

const int kRegistered = [] {
  for (const CpuLevel level : SupportedCpuLevels()) {
    const std::string suffix = std::string("/") + CpuLevelName(level);
    RegisterForms(level, suffix);
    for (const TensorType type : {TensorType::kQ4_K, TensorType::kQ6_K}) {
      const std::string name = std::string("tiles/") + InfoOf(type).name;
      const char* planes[] = {"/decoded", type == TensorType::kQ4_K ? "/scales" : "/expanded"};
      for (const bool plane : {false, true}) {
        Shapes(benchmark::RegisterBenchmark((name + planes[plane] + suffix).c_str(), BM_MmqTiles,
                                            level, type, plane),
               level);
      }
    }
    benchmark::RegisterBenchmark(("QuantizeRows" + suffix).c_str(), BM_QuantizeRows, level)
        ->Args({512, 1536});
    benchmark::RegisterBenchmark(("QuantizeTiles" + suffix).c_str(), BM_QuantizeTiles, level)
        ->Args({512, 1536});
  }
  return 0;
}();

}  // namespace
}  // namespace fg
