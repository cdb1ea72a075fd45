// Swiglu at the 7b width.
#include "kernels/cuda/swiglu.h"

#include "kernels/cuda/gpu_bench.h"

namespace fg::cuda {
namespace {

constexpr int64_t kRows = 3314, kWidth = 18944;
constexpr int kChain = 64;

// Scaled, to f16 rows, as between the GEMMs of a prefill.
void BM_SwigluPrefill(benchmark::State& state) {
  const bench::Memory<float> g(kRows * kWidth), u(kRows * kWidth), scale(kRows),
      f16_scale(kRows, true);
  const bench::Memory<uint16_t> f16(kRows * kWidth, true);
  SwigluArgs args;
  args.g = g.at();
  args.u = u.at();
  args.scale = scale.at();
  args.rows = kRows;
  args.n = kWidth;
  args.f16 = f16.at();
  args.f16_scale = f16_scale.at();
  bench::MeasureCold(state, {10.0 * kRows * kWidth},
                     [&](cudaStream_t stream) { return Swiglu(args, stream); });
}
BENCHMARK(BM_SwigluPrefill)->Apply(bench::Gpu);

// To chunks, where gate and up are not one kernel.
void BM_SwigluDecode(benchmark::State& state) {
  const bench::Memory<float> g(kChain * kWidth), u(kChain * kWidth);
  const bench::Memory<ActivationChunk> chunks(kChain * kWidth / 32, true);
  bench::MeasureChain(state, {9.25 * kWidth}, kChain, [&](int i, cudaStream_t stream) {
    SwigluArgs args;
    args.g = g.at(i * kWidth);
    args.u = u.at(i * kWidth);
    args.rows = 1;
    args.n = kWidth;
    args.chunks = chunks.at(i * kWidth / 32);
    return Swiglu(args, stream);
  });
}
BENCHMARK(BM_SwigluDecode)->Apply(bench::Gpu);

}  // namespace
}  // namespace fg::cuda
