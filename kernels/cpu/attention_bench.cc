// Speed of attention on one thread: one row after a context (decode), and a causal prefill.
#include "kernels/cpu/attention.h"

#include <benchmark/benchmark.h>

#include "kernels/cpu/float_testing.h"

namespace fg {
namespace {

constexpr int64_t kHeads = 8;
constexpr int64_t kKvHeads = 2;

// The arguments: level, head_dim, context, rows; the rows stand at the end of the context.
void BenchAttention(benchmark::State& state) {
  const CpuLevel level = static_cast<CpuLevel>(state.range(0));
  const int64_t head_dim = state.range(1), context = state.range(2), rows = state.range(3);
  if (level > BestCpuLevel()) {
    state.SkipWithError("this processor lacks the level");
    return;
  }
  SeededValues values(1);
  const int64_t width = kHeads * head_dim;
  const std::vector<float> q = values.Floats(rows * width);
  const std::vector<uint16_t> keys = values.Halves(context * kKvHeads * head_dim);
  const std::vector<uint16_t> value_rows = values.Halves(context * kKvHeads * head_dim);
  std::vector<int32_t> positions;
  int64_t seen = 0;
  for (int64_t r = 0; r < rows; ++r) {
    positions.push_back(static_cast<int32_t>(context - rows + r));
    seen += positions.back() + 1;
  }
  std::vector<float> y(static_cast<size_t>(rows * width)),
      scratch(static_cast<size_t>(AttentionScratch(context)));
  const AttentionArgs args{q.data(),         width,    keys.data(), value_rows.data(),
                           positions.data(), rows,     kHeads,      kKvHeads,
                           head_dim,         y.data(), width};
  for (auto _ : state) {
    Attention(level, args, {0, rows * kHeads}, scratch.data());
    benchmark::ClobberMemory();
  }
  // q*k and p*v, each with a multiply-add a value; both caches are read once per query head.
  const double macs = static_cast<double>(state.iterations() * 2 * seen * width);
  state.counters["MAC/s"] = benchmark::Counter(macs, benchmark::Counter::kIsRate);
  state.SetBytesProcessed(state.iterations() * 4 * seen * width);
}

void Arguments(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"level", "head_dim", "context", "rows"});
  for (const CpuLevel level : SupportedCpuLevels()) {
    for (const int64_t head_dim : {32, 64, 128}) {
      bench->Args({static_cast<int64_t>(level), head_dim, 1024, 1});
      bench->Args({static_cast<int64_t>(level), head_dim, 256, 256});
    }
  }
}

BENCHMARK(BenchAttention)->Apply(Arguments);

}  // namespace
}  // namespace fg
