// RMS norm at the 7b width: in prefill with the residual sum before it and f16 rows behind it, in
// decode with the chunks of a one-row product.
#include "kernels/cuda/rms_norm.h"

#include "kernels/cuda/gpu_bench.h"

namespace fg::cuda {
namespace {

constexpr int64_t kRows = 3314, kWidth = 3584;
constexpr int kChain = 64;

struct Arrays {
  bench::Memory<float> x, add, scale, sum, weight, y, f16_scale;
  bench::Memory<uint16_t> f16;
  bench::Memory<ActivationChunk> chunks;

  // `weights`: how many; a chain has one for each of its norms.
  Arrays(int64_t rows, int64_t weights)
      : x(rows * kWidth),
        add(rows * kWidth),
        scale(rows),
        sum(rows * kWidth, true),
        weight(weights * kWidth),
        y(rows * kWidth, true),
        f16_scale(rows, true),
        f16(rows * kWidth, true),
        chunks(rows * kWidth / 32, true) {}
};

RmsNormArgs Args(const Arrays& a, int64_t rows, int64_t row, int64_t weight) {
  RmsNormArgs args;
  args.x = a.x.at(row * kWidth);
  args.weight = a.weight.at(weight * kWidth);
  args.eps = 1e-6f;
  args.rows = rows;
  args.n = kWidth;
  return args;
}

void BM_RmsNormPrefill(benchmark::State& state) {
  const Arrays a(kRows, 1);
  RmsNormArgs args = Args(a, kRows, 0, 0);
  args.f16 = a.f16.at();
  args.f16_scale = a.f16_scale.at();
  bench::MeasureCold(state, {6.0 * kRows * kWidth},
                     [&](cudaStream_t stream) { return RmsNorm(args, stream); });
}
BENCHMARK(BM_RmsNormPrefill)->Apply(bench::Gpu);

void BM_AddRmsNormPrefill(benchmark::State& state) {
  const Arrays a(kRows, 1);
  RmsNormArgs args = Args(a, kRows, 0, 0);
  args.add = a.add.at();
  args.add_scale = a.scale.at();
  args.sum = a.sum.at();
  args.f16 = a.f16.at();
  args.f16_scale = a.f16_scale.at();
  bench::MeasureCold(state, {14.0 * kRows * kWidth},
                     [&](cudaStream_t stream) { return RmsNorm(args, stream); });
}
BENCHMARK(BM_AddRmsNormPrefill)->Apply(bench::Gpu);

void BM_AddRmsNormDecode(benchmark::State& state) {
  const Arrays a(kChain, kChain);
  const double bytes = (4 + 4 + 4 + 4 + 1.25) * kWidth;
  bench::MeasureChain(state, {bytes}, kChain, [&](int i, cudaStream_t stream) {
    RmsNormArgs args = Args(a, 1, i, i);
    args.add = a.add.at(i * kWidth);
    args.sum = a.sum.at(i * kWidth);
    args.chunks = a.chunks.at(i * kWidth / 32);
    return RmsNorm(args, stream);
  });
}
BENCHMARK(BM_AddRmsNormDecode)->Apply(bench::Gpu);

}  // namespace
}  // namespace fg::cuda
