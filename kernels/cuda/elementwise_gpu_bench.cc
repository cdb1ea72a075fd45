// The residual add and exp over a prefill's values; the argmax over a step's logits.
#include "kernels/cuda/elementwise.h"

#include "kernels/cuda/gpu_bench.h"

namespace fg::cuda {
namespace {

constexpr int64_t kValues = int64_t{3314} * 3584, kWidth = 3584, kVocabulary = 152064;

void BM_AddPrefill(benchmark::State& state) {
  const bench::Memory<float> a(kValues), b(kValues), y(kValues, true);
  bench::MeasureCold(state, {12.0 * kValues}, [&](cudaStream_t stream) {
    return Add(a.at(), b.at(), kValues, y.at(), stream);
  });
}
BENCHMARK(BM_AddPrefill)->Apply(bench::Gpu);

void BM_AddDecode(benchmark::State& state) {
  constexpr int kChain = 64;
  const bench::Memory<float> a(kChain * kWidth), b(kChain * kWidth), y(kChain * kWidth, true);
  bench::MeasureChain(state, {12.0 * kWidth}, kChain, [&](int i, cudaStream_t stream) {
    return Add(a.at(i * kWidth), b.at(i * kWidth), kWidth, y.at(i * kWidth), stream);
  });
}
BENCHMARK(BM_AddDecode)->Apply(bench::Gpu);

void BM_Exp(benchmark::State& state) {
  const bench::Memory<float> x(kValues), y(kValues, true);
  bench::MeasureCold(state, {8.0 * kValues},
                     [&](cudaStream_t stream) { return Exp(x.at(), kValues, y.at(), stream); });
}
BENCHMARK(BM_Exp)->Apply(bench::Gpu);

void BM_ArgmaxDecode(benchmark::State& state) {
  constexpr int kChain = 32;
  const bench::Memory<float> logits(kChain * kVocabulary);
  const bench::Memory<int32_t> ids(kChain, true);
  const bench::Memory<unsigned char> scratch(ArgmaxScratch(1), true);
  bench::MeasureChain(state, {4.0 * kVocabulary}, kChain, [&](int i, cudaStream_t stream) {
    return Argmax(logits.at(i * kVocabulary), 1, kVocabulary, ids.at(i), scratch.at(), stream);
  });
}
BENCHMARK(BM_ArgmaxDecode)->Apply(bench::Gpu);

}  // namespace
}  // namespace fg::cuda
