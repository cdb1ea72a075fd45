// One-row products at the shapes of a 7b model: launches one behind the other, each with weights of
// its own, so that every byte comes from memory. Bytes are those of the weights.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>

#include "kernels/cuda/gpu_bench.h"
#include "kernels/cuda/matvec.h"
#include "kernels/cuda/resident.h"

namespace fg::cuda {
namespace {

using bench::MeasureChain;
using bench::Memory;
using bench::Work;

constexpr int64_t kSetBytes = int64_t{1} << 30;  // of all weights that take turns: 20 times the L2

int CopiesOf(int64_t bytes) {
  return static_cast<int>(std::clamp<int64_t>(kSetBytes / bytes, 2, 100));
}

// Weights of one shape that take turns, of random bits: their values do not matter to the time.
class Weights {
 public:
  Weights(TensorType type, int64_t k, int64_t out, int copies)
      : bytes_(ResidentRowBytes(type, k) * out), bits_(bytes_ / 4 * copies) {
    args_.type = type;
    args_.k = k;
    args_.out = out;
  }
  int64_t bytes() const { return bytes_; }
  MatvecArgs Turn(int i) const {
    MatvecArgs args = args_;
    args.w = bits_.at(bytes_ / 4 * i);
    return args;
  }

 private:
  int64_t bytes_;
  Memory<uint32_t> bits_;
  MatvecArgs args_;
};

struct Rows {
  Memory<uint32_t> plane;
  Memory<float> x, y;

  Rows(int64_t rows, int64_t k, int64_t out)
      : plane(rows * (k / 32) * 10), x(rows * k), y(rows * out) {}
  void Set(int64_t rows, MatvecArgs* args) const {
    args->rows = rows;
    args->plane = reinterpret_cast<const ActivationChunk*>(plane.at());
    args->x = x.at();
    args->y = y.at();
  }
};

void BM_Matvec(benchmark::State& state, TensorType type, int64_t k, int64_t out) {
  const int64_t rows = state.range(0);
  const int copies = CopiesOf(ResidentRowBytes(type, k) * out);
  const Weights weights(type, k, out, copies);
  const Rows data(rows, k, out);
  const Memory<float> residual(rows * out);
  MeasureChain(state, {static_cast<double>(weights.bytes())}, copies,
               [&](int i, cudaStream_t stream) {
                 MatvecArgs args = weights.Turn(i);
                 data.Set(rows, &args);
                 args.residual = residual.at();
                 return Matvec(args, stream);
               });
}

void BM_Qkv(benchmark::State& state, TensorType v_type) {
  constexpr int64_t kWidth = 3584, kKv = 512;
  const int64_t rows = state.range(0);
  constexpr int kCopies = 100;
  const Weights q(TensorType::kQ4_K, kWidth, kWidth, kCopies);
  const Weights k(TensorType::kQ4_K, kWidth, kKv, kCopies);
  const Weights v(v_type, kWidth, kKv, kCopies);
  const Rows data(rows, kWidth, kWidth);
  const Memory<float> k_y(rows * kKv), v_y(rows * kKv);
  MeasureChain(state, {static_cast<double>(q.bytes() + k.bytes() + v.bytes())}, kCopies,
               [&](int i, cudaStream_t stream) {
                 MatvecArgs three[] = {q.Turn(i), k.Turn(i), v.Turn(i)};
                 for (MatvecArgs& args : three) data.Set(rows, &args);
                 three[1].y = k_y.at();
                 three[2].y = v_y.at();
                 return MatvecThree(three, 3, stream);
               });
}

void BM_GateUp(benchmark::State& state, TensorType type, int64_t k, int64_t out) {
  const int64_t rows = state.range(0);
  const int copies = CopiesOf(2 * ResidentRowBytes(type, k) * out);
  const Weights gate(type, k, out, copies), up(type, k, out, copies);
  const Rows data(rows, k, 1);
  const Memory<uint32_t> chunks(rows * out / 32 * 10);
  MeasureChain(
      state, {2.0 * static_cast<double>(gate.bytes())}, copies, [&](int i, cudaStream_t stream) {
        MatvecArgs a = gate.Turn(i), b = up.Turn(i);
        data.Set(rows, &a);
        data.Set(rows, &b);
        return MatvecGateUp(a, b, nullptr, reinterpret_cast<ActivationChunk*>(chunks.at()), stream);
      });
}

void BM_Gather(benchmark::State& state, TensorType type) {
  constexpr int64_t kWidth = 18944, kRows = 3584;
  const int64_t bytes = RowBytes(type, kWidth) * kRows;
  const int64_t resident = ResidentRowBytes(type, kWidth) * kRows;
  constexpr int kCopies = 8;
  const Memory<uint32_t> from(bytes / 4 * kCopies), to(resident / 4 * kCopies);
  MeasureChain(state, {static_cast<double>(bytes + resident)}, kCopies,
               [&](int i, cudaStream_t stream) {
                 return GatherResidentRows(type, from.at(bytes / 4 * i), kRows, kWidth,
                                           to.at(resident / 4 * i), stream);
               });
}

void BM_Dequantize(benchmark::State& state, TensorType type) {
  constexpr int64_t kWidth = 18944, kRows = 3584;
  constexpr int kCopies = 8;
  const int64_t bytes = ResidentRowBytes(type, kWidth) * kRows;
  // Zeros: no value lies beyond f16, as in a weight that is taken.
  const Memory<uint32_t> from(bytes / 4 * kCopies, true);
  const Memory<uint16_t> f16(kRows * kWidth);
  const Memory<uint32_t> beyond(2, true);
  MeasureChain(state, {static_cast<double>(bytes + 2 * kRows * kWidth)}, kCopies,
               [&](int i, cudaStream_t stream) {
                 return DequantizeToF16(type, from.at(bytes / 4 * i), kRows, kWidth, f16.at(),
                                        reinterpret_cast<unsigned long long*>(beyond.at()), stream);
               });
}

constexpr TensorType kQ4K = TensorType::kQ4_K, kQ6K = TensorType::kQ6_K;
constexpr TensorType kQ40 = TensorType::kQ4_0, kF16 = TensorType::kF16;

#define FG_MATVEC_BENCH(...) \
  BENCHMARK_CAPTURE(__VA_ARGS__)->Arg(1)->Apply(bench::Gpu)->ArgName("rows")

FG_MATVEC_BENCH(BM_Qkv, v_q4_K, kQ4K)->Arg(4);
FG_MATVEC_BENCH(BM_Qkv, v_q6_K, kQ6K);
FG_MATVEC_BENCH(BM_Matvec, attn_output_q4_K, kQ4K, 3584, 3584)->Arg(4);
FG_MATVEC_BENCH(BM_GateUp, q4_K, kQ4K, 3584, 18944)->Arg(4)->Arg(15);
FG_MATVEC_BENCH(BM_Matvec, ffn_down_q4_K, kQ4K, 18944, 3584)->Arg(4);
FG_MATVEC_BENCH(BM_Matvec, ffn_down_q6_K, kQ6K, 18944, 3584)->Arg(4);
FG_MATVEC_BENCH(BM_Matvec, output_q6_K, kQ6K, 3584, 152064)->Arg(4);
FG_MATVEC_BENCH(BM_Matvec, output_f16, kF16, 3584, 152064);
FG_MATVEC_BENCH(BM_GateUp, q4_0, kQ40, 3584, 18944);
FG_MATVEC_BENCH(BM_Matvec, ffn_down_q4_0, kQ40, 18944, 3584);
FG_MATVEC_BENCH(BM_Matvec, ffn_down_q5_0, TensorType::kQ5_0, 18944, 3584);
FG_MATVEC_BENCH(BM_Matvec, ffn_down_q8_0, TensorType::kQ8_0, 18944, 3584);
// Of a 0.5b model.
FG_MATVEC_BENCH(BM_GateUp, small_q4_0, kQ40, 896, 4864);
FG_MATVEC_BENCH(BM_Matvec, small_down_q4_0, kQ40, 4864, 896);

BENCHMARK_CAPTURE(BM_Gather, q6_K, kQ6K)->Apply(bench::Gpu);
BENCHMARK_CAPTURE(BM_Gather, q4_0, kQ40)->Apply(bench::Gpu);
BENCHMARK_CAPTURE(BM_Dequantize, q4_K, kQ4K)->Apply(bench::Gpu);
BENCHMARK_CAPTURE(BM_Dequantize, q6_K, kQ6K)->Apply(bench::Gpu);

}  // namespace
}  // namespace fg::cuda
