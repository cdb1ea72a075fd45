// RoPE and the KV store in one launch, at the 7b shape.
#include "kernels/cuda/rope_kv.h"

#include <numeric>

#include "kernels/cuda/gpu_bench.h"

namespace fg::cuda {
namespace {

constexpr int64_t kHeads = 28, kKvHeads = 4, kDim = 128, kPositions = 4096;
constexpr int64_t kQ = kHeads * kDim, kKv = kKvHeads * kDim;
constexpr double kRowBytes = 8.0 * kQ + 12.0 * kKv + 4.0 * kDim;  // the last: cosine and sine

struct Arrays {
  bench::Memory<float> q, k, v, scale, q_bias, k_bias, v_bias, cosine, sine, q_out;
  bench::Memory<int32_t> positions;
  bench::Memory<uint16_t> keys, values;

  explicit Arrays(int64_t rows)
      : q(rows * kQ),
        k(rows * kKv),
        v(rows * kKv),
        scale(rows),
        q_bias(kQ),
        k_bias(kKv),
        v_bias(kKv),
        cosine(kPositions * kDim / 2),
        sine(kPositions * kDim / 2),
        q_out(rows * kQ, true),
        positions(rows, true),
        keys(kPositions * kKv, true),
        values(kPositions * kKv, true) {
    std::vector<int32_t> ascending(static_cast<size_t>(rows));
    std::iota(ascending.begin(), ascending.end(), 0);
    bench::Check(cudaMemcpy(positions.at(), ascending.data(), ascending.size() * sizeof(int32_t),
                            cudaMemcpyHostToDevice),
                 "positions");
  }
};

RopeKvArgs Args(const Arrays& a, int64_t row, int64_t rows) {
  RopeKvArgs args;
  args.q = a.q.at(row * kQ);
  args.k = a.k.at(row * kKv);
  args.v = a.v.at(row * kKv);
  args.q_bias = a.q_bias.at();
  args.k_bias = a.k_bias.at();
  args.v_bias = a.v_bias.at();
  args.positions = a.positions.at(row);
  args.tables = {a.cosine.at(), a.sine.at(), kDim / 2};
  args.rows = rows;
  args.heads = kHeads;
  args.kv_heads = kKvHeads;
  args.head_dim = kDim;
  args.q_out = a.q_out.at(row * kQ);
  args.keys = a.keys.at();
  args.values = a.values.at();
  return args;
}

void BM_RopeKvPrefill(benchmark::State& state) {
  constexpr int64_t kRows = 3314;
  const Arrays a(kRows);
  RopeKvArgs args = Args(a, 0, kRows);
  args.scale = a.scale.at();
  bench::MeasureCold(state, {kRows * kRowBytes},
                     [&](cudaStream_t stream) { return RopeKv(args, stream); });
}
BENCHMARK(BM_RopeKvPrefill)->Apply(bench::Gpu);

void BM_RopeKvDecode(benchmark::State& state) {
  constexpr int kChain = 64;
  const Arrays a(kChain);
  bench::MeasureChain(state, {kRowBytes}, kChain,
                      [&](int i, cudaStream_t stream) { return RopeKv(Args(a, i, 1), stream); });
}
BENCHMARK(BM_RopeKvDecode)->Apply(bench::Gpu);

}  // namespace
}  // namespace fg::cuda
