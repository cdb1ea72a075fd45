// Attention of the 7b shape: prefill in TFLOP/s, counted as 4 * rows^2/2 * heads * head_dim; decode
// as the mean of 28 layers in one graph, each with a cache of its own, so that keys and values come
// from memory, in GB/s of keys and values.
#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "kernels/cuda/attention.h"

namespace fg::cuda {
namespace {

constexpr int64_t kHeads = 28, kKvHeads = 4, kDim = 128, kLayers = 28;

void Check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "attention_gpu_bench: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

// Device memory with small f16 or f32 values that differ, or zeros.
struct Memory {
  explicit Memory(size_t bytes) {
    Check(cudaMalloc(&at, bytes));
    Check(cudaMemset(at, 0, bytes));
  }
  Memory(const Memory&) = delete;
  ~Memory() { cudaFree(at); }
  template <typename T>
  void Fill(const std::vector<T>& values) {
    Check(cudaMemcpy(at, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  void* at = nullptr;
};

std::vector<uint16_t> Halves(size_t count) {
  std::vector<uint16_t> values(count);
  uint32_t state = 1;
  for (uint16_t& v : values) {
    state = state * 1664525u + 1013904223u;
    // Both signs, magnitudes of 1/2 to 2.
    v = static_cast<uint16_t>(((state >> 16) & 0x8000u) | (0x3800u + ((state >> 12) & 0x7FFu)));
  }
  return values;
}

std::vector<float> Floats(size_t count) {
  std::vector<float> values(count);
  uint32_t state = 7;
  for (float& v : values) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-30f;
  }
  return values;
}

class Timer {
 public:
  explicit Timer(cudaStream_t stream) : stream_(stream) {
    Check(cudaEventCreate(&begin_));
    Check(cudaEventCreate(&end_));
  }
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  void Begin() { Check(cudaEventRecord(begin_, stream_)); }
  double Seconds() {
    Check(cudaEventRecord(end_, stream_));
    Check(cudaEventSynchronize(end_));
    float milliseconds = 0;
    Check(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return milliseconds * 1e-3;
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

AttentionArgs Shape(int64_t rows) {
  AttentionArgs args;
  args.rows = rows;
  args.heads = kHeads;
  args.kv_heads = kKvHeads;
  args.head_dim = kDim;
  return args;
}

void Many(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const size_t width = static_cast<size_t>(rows * kHeads * kDim);
  const size_t cached = static_cast<size_t>(rows * kKvHeads * kDim);
  Memory q(width * 4), y(width * 4), keys(cached * 2), values(cached * 2), positions(4);
  q.Fill(Floats(width));
  keys.Fill(Halves(cached));
  values.Fill(Halves(cached));
  AttentionArgs args = Shape(rows);
  args.q = static_cast<const float*>(q.at);
  args.keys = static_cast<const uint16_t*>(keys.at);
  args.values = static_cast<const uint16_t*>(values.at);
  args.positions = static_cast<const int32_t*>(positions.at);
  args.y = static_cast<float*>(y.at);
  cudaStream_t stream = nullptr;
  Check(cudaStreamCreate(&stream));
  {
    Timer timer(stream);
    for (int i = 0; i < 3; ++i) Check(AttentionMany(args, stream));
    double total = 0;
    for (auto unused : state) {
      (void)unused;
      timer.Begin();
      Check(AttentionMany(args, stream));
      const double seconds = timer.Seconds();
      state.SetIterationTime(seconds);
      total += seconds;
    }
    const double operations = 2.0 * static_cast<double>(rows * rows * kHeads * kDim);
    state.counters["TFLOP/s"] =
        operations * static_cast<double>(state.iterations()) / total * 1e-12;
  }
  Check(cudaStreamDestroy(stream));
}

// One layer's cache and the call that reads it.
struct Layer {
  explicit Layer(size_t cached) : keys(cached * 2), values(cached * 2) {
    keys.Fill(Halves(cached));
    values.Fill(Halves(cached));
  }
  Memory keys, values;
};

void Few(benchmark::State& state) {
  const int64_t length = state.range(0), rows = state.range(1);
  const size_t width = static_cast<size_t>(rows * kHeads * kDim);
  const size_t cached = static_cast<size_t>(length * kKvHeads * kDim);
  Memory q(width * 4), chunks(width / 32 * sizeof(ActivationChunk)),
      positions(static_cast<size_t>(rows) * 4),
      scratch(static_cast<size_t>(AttentionFewScratch(rows, kHeads, kKvHeads, kDim, length)));
  q.Fill(Floats(width));
  std::vector<int32_t> at;
  for (int64_t r = 0; r < rows; ++r) at.push_back(static_cast<int32_t>(length - rows + r));
  positions.Fill(at);
  std::vector<std::unique_ptr<Layer>> layers;
  for (int64_t i = 0; i < kLayers; ++i) layers.push_back(std::make_unique<Layer>(cached));
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  Check(cudaStreamCreate(&stream));
  Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (const auto& layer : layers) {
    AttentionArgs args = Shape(rows);
    args.q = static_cast<const float*>(q.at);
    args.keys = static_cast<const uint16_t*>(layer->keys.at);
    args.values = static_cast<const uint16_t*>(layer->values.at);
    args.positions = static_cast<const int32_t*>(positions.at);
    args.chunks = static_cast<ActivationChunk*>(chunks.at);
    args.scratch = scratch.at;
    Check(AttentionFew(args, AttentionBucket(length), stream));
  }
  Check(cudaStreamEndCapture(stream, &graph));
  Check(cudaGraphInstantiate(&replay, graph, 0));
  {
    Timer timer(stream);
    for (int i = 0; i < 3; ++i) Check(cudaGraphLaunch(replay, stream));
    double total = 0;
    for (auto unused : state) {
      (void)unused;
      timer.Begin();
      Check(cudaGraphLaunch(replay, stream));
      const double seconds = timer.Seconds();
      state.SetIterationTime(seconds);
      total += seconds;
    }
    const double layer = total / static_cast<double>(state.iterations() * kLayers);
    state.counters["us/layer"] = layer * 1e6;
    state.counters["GB/s"] = static_cast<double>(cached) * 4.0 / layer * 1e-9;
  }
  Check(cudaGraphExecDestroy(replay));
  Check(cudaGraphDestroy(graph));
  Check(cudaStreamDestroy(stream));
}

BENCHMARK(Many)
    ->Name("AttentionMany")
    ->Arg(512)
    ->Arg(3314)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(Few)
    ->Name("AttentionFew")
    ->Args({128, 1})
    ->Args({3314, 1})
    ->Args({3314, 15})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace fg::cuda
