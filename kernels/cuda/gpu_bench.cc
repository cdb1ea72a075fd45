#include "kernels/cuda/gpu_bench.h"

namespace fg::cuda::bench {
namespace {

constexpr int kRuns = 10;
constexpr int64_t kReadBytes = int64_t{2} << 30;

double MeasureRead(Timer& timer) {
  const Memory<uint32_t> from(kReadBytes / 4, true), sink(1, true);
  double best = 1e9;
  for (int run = 0; run < kRuns; ++run) {
    best = std::min(best, timer.Cold([&](cudaStream_t stream) {
      return LaunchRead(from.at(), kReadBytes, sink.at(), stream);
    }));
  }
  return kReadBytes / best;
}

// 0 where the card cannot.
double MeasureTensor(Timer& timer, bool wgmma) {
  const Memory<float> sink(1, true);
  int64_t operations = 0;
  if (LaunchTensor(wgmma, sink.at(), &operations, timer.stream()) != cudaSuccess) return 0;
  double best = 1e9;
  for (int run = 0; run < kRuns; ++run) {
    best = std::min(best, timer.Cold([&](cudaStream_t stream) {
      return LaunchTensor(wgmma, sink.at(), &operations, stream);
    }));
  }
  return static_cast<double>(operations) / best;
}

Ceilings Measure() {
  Timer timer;
  Ceilings ceilings;
  ceilings.read_bytes = MeasureRead(timer);
  ceilings.mma_sync_operations = MeasureTensor(timer, false);
  ceilings.f16_operations = std::max(ceilings.mma_sync_operations, MeasureTensor(timer, true));
  return ceilings;
}

// The ceilings themselves, so that they stand in the table.
void BM_Ceilings(benchmark::State& state) {
  const Ceilings& ceilings = MeasuredCeilings();
  for (auto _ : state) state.SetIterationTime(1e-6);
  state.counters["read_bytes/s"] = ceilings.read_bytes;
  state.counters["f16_op/s"] = ceilings.f16_operations;
  state.counters["mma_sync_op/s"] = ceilings.mma_sync_operations;
}
BENCHMARK(BM_Ceilings)->UseManualTime()->Iterations(1);

}  // namespace

const Ceilings& MeasuredCeilings() {
  static const Ceilings ceilings = Measure();
  return ceilings;
}

}  // namespace fg::cuda::bench
