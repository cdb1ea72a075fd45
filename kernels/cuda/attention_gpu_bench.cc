// Attention of the 7b shape. Prefill: operations counted as 4 * rows^2/2 * heads * head_dim.
// Decode: 28 layers in one graph, each with a cache of its own, so that keys and values come from
// memory.
#include <memory>
#include <vector>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/gpu_bench.h"

namespace fg::cuda {
namespace {

constexpr int64_t kHeads = 28, kKvHeads = 4, kDim = 128, kLayers = 28;

AttentionArgs Shape(int64_t rows) {
  AttentionArgs args;
  args.rows = rows;
  args.heads = kHeads;
  args.kv_heads = kKvHeads;
  args.head_dim = kDim;
  return args;
}

// The positions of the last `rows` of `length`.
void FillPositions(const bench::Memory<int32_t>& positions, int64_t length, int64_t rows) {
  std::vector<int32_t> at;
  for (int64_t r = length - rows; r < length; ++r) at.push_back(static_cast<int32_t>(r));
  bench::Check(cudaMemcpy(positions.at(), at.data(), at.size() * 4, cudaMemcpyHostToDevice),
               "positions");
}

void Many(benchmark::State& state, AttentionForm form) {
  if (!AttentionManyHas(form)) {
    state.SkipWithError("this card or build does not have the form");
    return;
  }
  const int64_t rows = state.range(0), width = rows * kHeads * kDim;
  const int64_t cached = rows * kKvHeads * kDim;
  const bench::Memory<float> q(width), y(width);
  const bench::Memory<uint16_t> keys(cached), values(cached);
  const bench::Memory<int32_t> positions(rows, true);
  FillPositions(positions, rows, rows);
  AttentionArgs args = Shape(rows);
  args.q = q.at();
  args.keys = keys.at();
  args.values = values.at();
  args.positions = positions.at();
  args.y = y.at();
  const bench::Work work = {static_cast<double>(width * 8 + cached * 4),
                            2.0 * static_cast<double>(rows * width)};
  bench::MeasureCold(state, work,
                     [&](cudaStream_t stream) { return AttentionMany(args, stream, form); });
}

struct Cache {
  bench::Memory<uint16_t> keys, values;
};

void Few(benchmark::State& state) {
  const int64_t length = state.range(0), rows = state.range(1), width = rows * kHeads * kDim;
  const int64_t cached = length * kKvHeads * kDim;
  const bench::Memory<float> q(width);
  const bench::Memory<ActivationChunk> chunks(width / 32, true);
  const bench::Memory<int32_t> positions(rows, true);
  const bench::Memory<char> scratch(AttentionFewScratch(rows, kHeads, kKvHeads, kDim, length),
                                    true);
  FillPositions(positions, length, rows);
  std::vector<std::unique_ptr<Cache>> layers;
  for (int64_t i = 0; i < kLayers; ++i) {
    layers.push_back(std::unique_ptr<Cache>(
        new Cache{bench::Memory<uint16_t>(cached), bench::Memory<uint16_t>(cached)}));
  }
  AttentionArgs args = Shape(rows);
  args.q = q.at();
  args.positions = positions.at();
  args.chunks = chunks.at();
  args.scratch = scratch.at();
  const bench::Work work = {static_cast<double>(width * 4 + cached * 4 + width / 32 * 40), 0};
  bench::MeasureChain(state, work, kLayers, [&](int i, cudaStream_t stream) {
    args.keys = layers[static_cast<size_t>(i)]->keys.at();
    args.values = layers[static_cast<size_t>(i)]->values.at();
    return AttentionFew(args, AttentionBucket(length), stream);
  });
}

BENCHMARK_CAPTURE(Many, mma, AttentionForm::kMma)
    ->Name("AttentionMany/mma")
    ->Apply(bench::Gpu)
    ->Arg(512)
    ->Arg(3314);
BENCHMARK_CAPTURE(Many, wgmma, AttentionForm::kWgmma)
    ->Name("AttentionMany/wgmma")
    ->Apply(bench::Gpu)
    ->Arg(512)
    ->Arg(3314);
BENCHMARK(Few)
    ->Name("AttentionFew")
    ->Apply(bench::Gpu)
    ->Args({128, 1})
    ->Args({1024, 1})
    ->Args({3314, 1})
    ->Args({3314, 15});

}  // namespace
}  // namespace fg::cuda
