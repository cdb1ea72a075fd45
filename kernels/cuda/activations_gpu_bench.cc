// Rows in the forms that matmuls read, at the 7b widths.
#include "kernels/cuda/activations.h"

#include "kernels/cuda/gpu_bench.h"

namespace fg::cuda {
namespace {

constexpr int64_t kRows = 3314;
constexpr int kChain = 64;

void Widths(benchmark::internal::Benchmark* b) { b->Arg(3584)->Arg(18944)->Apply(bench::Gpu); }

void BM_RowsToF16Prefill(benchmark::State& state) {
  const int64_t k = state.range(0);
  const bench::Memory<float> x(kRows * k), scale(kRows, true);
  const bench::Memory<uint16_t> f16(kRows * k, true);
  bench::MeasureCold(state, {6.0 * static_cast<double>(kRows * k)}, [&](cudaStream_t stream) {
    return RowsToF16(x.at(), kRows, k, f16.at(), scale.at(), stream);
  });
}
BENCHMARK(BM_RowsToF16Prefill)->Apply(Widths);

void BM_QuantizeRowsPrefill(benchmark::State& state) {
  const int64_t k = state.range(0);
  const bench::Memory<float> x(kRows * k);
  const bench::Memory<ActivationChunk> plane(kRows * k / 32, true);
  bench::MeasureCold(state, {5.25 * static_cast<double>(kRows * k)}, [&](cudaStream_t stream) {
    return QuantizeRows(x.at(), kRows, k, plane.at(), stream);
  });
}
BENCHMARK(BM_QuantizeRowsPrefill)->Apply(Widths);

void BM_QuantizeRowsDecode(benchmark::State& state) {
  const int64_t k = state.range(0);
  const bench::Memory<float> x(kChain * k);
  const bench::Memory<ActivationChunk> plane(kChain * k / 32, true);
  bench::MeasureChain(state, {5.25 * static_cast<double>(k)}, kChain,
                      [&](int i, cudaStream_t stream) {
                        return QuantizeRows(x.at(i * k), 1, k, plane.at(i * k / 32), stream);
                      });
}
BENCHMARK(BM_QuantizeRowsDecode)->Apply(Widths);

void BM_ScaleBiasPrefill(benchmark::State& state) {
  const int64_t n = state.range(0);
  const bench::Memory<float> y(kRows * n, true), scale(kRows), bias(n);
  bench::MeasureCold(state, {8.0 * static_cast<double>(kRows * n)}, [&](cudaStream_t stream) {
    return ScaleBias(y.at(), kRows, n, scale.at(), bias.at(), stream);
  });
}
BENCHMARK(BM_ScaleBiasPrefill)->Apply(Widths);

}  // namespace
}  // namespace fg::cuda
