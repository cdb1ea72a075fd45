// One-row products: bytes of weights a second (each weight is read once) beside what a plain read
// of as many bytes gives. A set of matrices far larger than the caches is gone through in turn, as
// decoding does.
#include "kernels/cpu/matvec.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/cpu/quant_test_data.h"
#include "kernels/cpu/quantize_rows.h"
#include "kernels/formats/encode.h"

namespace fg {
namespace {

constexpr int64_t kSetBytes = int64_t{1} << 30;  // of all matrices that take turns

// Sums words in eight chains: nothing but the loads can hold it up.
void BM_PlainRead(benchmark::State& state) {
  std::vector<uint64_t> words(kSetBytes / 8, 1);
  for (auto _ : state) {
    uint64_t sums[8] = {};
    for (size_t i = 0; i < words.size(); i += 8) {
      for (size_t j = 0; j < 8; ++j) sums[j] += words[i + j];
    }
    for (uint64_t& sum : sums) benchmark::DoNotOptimize(sum);
  }
  state.SetBytesProcessed(state.iterations() * kSetBytes);
}
BENCHMARK(BM_PlainRead);

// Copies of `one` that fill the set, and a call's turn among them.
class Matrices {
 public:
  explicit Matrices(const std::vector<uint8_t>& one)
      : size_(one.size()), count_(std::max<size_t>(1, kSetBytes / size_)) {
    bytes_.reserve(size_ * count_);
    for (size_t i = 0; i < count_; ++i) bytes_.insert(bytes_.end(), one.begin(), one.end());
  }
  const uint8_t* Next() { return bytes_.data() + size_ * (turn_++ % count_); }
  size_t size() const { return size_; }

 private:
  size_t size_, count_, turn_ = 0;
  std::vector<uint8_t> bytes_;
};

void Report(benchmark::State& state, size_t weight_bytes, int64_t k, int64_t outs) {
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(weight_bytes));
  state.counters["MAC/s"] = benchmark::Counter(static_cast<double>(k * outs),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

void BM_MatvecQuantized(benchmark::State& state, CpuLevel level, TensorType type) {
  const int64_t k = state.range(0), outs = state.range(1);
  Matrices w(testing::RandomBlocks(type, outs, k, 1));
  const std::vector<float> x = testing::Activations(1, k, 2);
  std::vector<ActivationChunk> a(static_cast<size_t>(k / 32));
  std::vector<float> y(static_cast<size_t>(outs));
  QuantizeRows(level, x.data(), k, 1, k, a.data());
  for (auto _ : state) {
    MatvecQuantized(level, type, w.Next(), a.data(), k, nullptr, {0, outs}, y.data());
    benchmark::ClobberMemory();
  }
  Report(state, w.size(), k, outs);
}

void BM_MatvecFloat(benchmark::State& state, CpuLevel level, TensorType type) {
  const int64_t k = state.range(0), outs = state.range(1);
  const std::vector<float> values = testing::Gaussian(k * outs, 1);
  std::vector<uint8_t> bytes(static_cast<size_t>(RowBytes(type, k * outs)));
  EncodeRow(type, values.data(), k * outs, bytes.data());
  Matrices w(bytes);
  const std::vector<float> x = testing::Gaussian(k, 2);
  std::vector<float> y(static_cast<size_t>(outs));
  for (auto _ : state) {
    MatvecFloat(level, type, w.Next(), x.data(), k, nullptr, {0, outs}, y.data());
    benchmark::ClobberMemory();
  }
  Report(state, w.size(), k, outs);
}

const int kRegistered = [] {
  for (const CpuLevel level : SupportedCpuLevels()) {
    const std::string suffix = std::string("/") + CpuLevelName(level);
    for (const TensorType type : {TensorType::kQ4_0, TensorType::kQ5_0, TensorType::kQ8_0,
                                  TensorType::kQ4_K, TensorType::kQ6_K}) {
      const std::string name = std::string("Matvec/") + InfoOf(type).name + suffix;
      benchmark::RegisterBenchmark(name.c_str(), BM_MatvecQuantized, level, type)
          ->Args({1536, 1536})
          ->Args({1536, 8960})
          ->Args({8960, 1536});
    }
    for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kBF16}) {
      const std::string name = std::string("Matvec/") + InfoOf(type).name + suffix;
      benchmark::RegisterBenchmark(name.c_str(), BM_MatvecFloat, level, type)
          ->Args({1536, 1536})
          ->Args({1536, 8960})
          ->Args({8960, 1536});
    }
  }
  return 0;
}();

}  // namespace
}  // namespace fg
