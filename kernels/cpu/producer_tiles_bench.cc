// Producers of the tiled plane: the operation and the prepass apart, fused with y written too
// (mode 1) and fused alone (mode 2). Bytes are those of the inputs, y and the plane that a mode
// must move at least; `values` are the operation's results a second.
//   kernels_cpu_producer_tiles_bench --benchmark_filter=avx512
#include "kernels/cpu/producer_tiles.h"

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "kernels/cpu/quant_test_data.h"
#include "kernels/cpu/quantize_tiles.h"
#include "kernels/cpu/rms_norm.h"
#include "kernels/cpu/swiglu.h"

namespace fg {
namespace {

constexpr float kEps = 1e-6f;

struct Buffers {
  explicit Buffers(const benchmark::State& state)
      : rows(state.range(0)),
        n(state.range(1)),
        tiles{0, TileCount(rows)},
        first(testing::Activations(rows, n, 1)),
        second(testing::Gaussian(rows * n, 2)),
        y(first.size()),
        plane(static_cast<size_t>(tiles.end * n / 32)) {}

  int64_t rows, n;
  Range tiles;
  std::vector<float> first, second, y;
  std::vector<ActivationTile> plane;
};

void Report(benchmark::State& state, const Buffers& b, size_t inputs, int mode) {
  state.counters["values"] = benchmark::Counter(static_cast<double>(b.rows * b.n),
                                                benchmark::Counter::kIsIterationInvariantRate);
  const size_t y_passes = mode == 0 ? 2 : mode == 1 ? 1 : 0;  // the prepass reads it again
  const size_t bytes =
      (inputs + y_passes * b.y.size()) * sizeof(float) + b.plane.size() * sizeof(b.plane[0]);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}

void BM_RmsNorm(benchmark::State& state, CpuLevel level, int mode) {
  Buffers b(state);
  for (auto _ : state) {
    if (mode == 0) {
      RmsNorm(level, b.first.data(), b.n, b.second.data(), b.rows, b.n, kEps, b.y.data(), b.n);
      QuantizeTiles(level, b.y.data(), b.n, b.rows, b.n, b.tiles, b.plane.data());
    } else {
      RmsNormTiles(level, b.first.data(), b.second.data(), b.rows, b.n, kEps, b.tiles,
                   mode == 1 ? b.y.data() : nullptr, b.plane.data());
    }
    benchmark::ClobberMemory();
  }
  Report(state, b, b.first.size() + static_cast<size_t>(b.n), mode);
}

void BM_Swiglu(benchmark::State& state, CpuLevel level, int mode) {
  Buffers b(state);
  for (auto _ : state) {
    if (mode == 0) {
      Swiglu(level, b.first.data(), b.second.data(), b.rows * b.n, b.y.data());
      QuantizeTiles(level, b.y.data(), b.n, b.rows, b.n, b.tiles, b.plane.data());
    } else {
      SwigluTiles(level, b.first.data(), b.second.data(), b.rows, b.n, b.tiles,
                  mode == 1 ? b.y.data() : nullptr, b.plane.data());
    }
    benchmark::ClobberMemory();
  }
  Report(state, b, b.first.size() + b.second.size(), mode);
}

const int kRegistered = [] {
  const char* modes[] = {"apart", "mode1", "mode2"};
  for (const CpuLevel level : SupportedCpuLevels()) {
    for (int mode = 0; mode < 3; ++mode) {
      const std::string suffix = std::string("/") + modes[mode] + "/" + CpuLevelName(level);
      benchmark::RegisterBenchmark(("RmsNorm" + suffix).c_str(), BM_RmsNorm, level, mode)
          ->Args({512, 1536});
      benchmark::RegisterBenchmark(("Swiglu" + suffix).c_str(), BM_Swiglu, level, mode)
          ->Args({512, 8960});
    }
  }
  return 0;
}();

}  // namespace
}  // namespace fg
