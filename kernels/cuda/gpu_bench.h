// Benchmarks of CUDA kernels: times from events, a cold L2, bytes and operations as the caller
// declares them, and their share of what this card reaches, measured by this program first.
//
// Register with Gpu():  BENCHMARK(BM_X)->Apply(fg::cuda::bench::Gpu);
#pragma once

#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace fg::cuda::bench {

// Ends the program: a benchmark that goes on after a failed launch measures nothing.
inline void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "fg-gpu-bench: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

// The kernels behind the ceilings, one launch each.
// Reads bytes (a multiple of 16) once; writes one word to sink [1] if a sum says so.
cudaError_t LaunchRead(const void* from, int64_t bytes, uint32_t* sink, cudaStream_t stream);
// Multiplies f16 matrices that lie in registers and shared memory, f32 sums, on all
// multiprocessors; *operations: two a multiply-add. Through wgmma if `wgmma` (cudaErrorNotSupported
// where the card has none), else through mma.sync. sink [1].
cudaError_t LaunchTensor(bool wgmma, float* sink, int64_t* operations, cudaStream_t stream);

// A second, the best of some runs.
struct Ceilings {
  double read_bytes = 0;
  double f16_operations = 0;       // the faster of the two ways
  double mma_sync_operations = 0;  // what kernels reach at most that do not use wgmma
};
const Ceilings& MeasuredCeilings();  // measured at the first call

// Device memory with finite values of both signs, different ones side by side.
template <typename T>
class Memory {
 public:
  explicit Memory(int64_t count, bool zero = false)
      : bytes_(static_cast<size_t>(count) * sizeof(T)) {
    Check(cudaMalloc(&at_, bytes_), "cudaMalloc");
    if (zero) {
      Check(cudaMemset(at_, 0, bytes_), "cudaMemset");
      return;
    }
    std::vector<uint32_t> words(1 << 18);
    uint32_t state = 1;
    for (uint32_t& word : words) {
      state = state * 1664525u + 1013904223u;
      // f32 and f16 alike: both signs, magnitudes of 1/2 to 2.
      const uint32_t noise = state >> 8;
      word = sizeof(T) == 4 ? (noise << 8 & 0x80000000u) | (0x3F000000u + (noise & 0xFFFFFFu))
                            : ((noise << 8 & 0x80008000u) | 0x38003800u) + (noise & 0x07FF07FFu);
    }
    for (size_t done = 0; done < bytes_; done += words.size() * 4) {
      Check(cudaMemcpy(static_cast<char*>(at_) + done, words.data(),
                       std::min(words.size() * 4, bytes_ - done), cudaMemcpyHostToDevice),
            "fill");
    }
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { cudaFree(at_); }
  T* at(int64_t index = 0) const { return static_cast<T*>(at_) + index; }

 private:
  size_t bytes_;
  void* at_ = nullptr;
};

inline void Gpu(benchmark::internal::Benchmark* b) {
  b->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(30);
}

// What one launch must move and compute, whatever it does in fact.
struct Work {
  double bytes = 0;
  double operations = 0;  // of f16 tensor cores; 0: no figure
};

// A stream, two events, and 256 MiB that push everything else out of L2.
class Timer {
 public:
  Timer() : flush_(kFlushBytes / 4, true) {
    Check(cudaStreamCreate(&stream_), "cudaStreamCreate");
    Check(cudaEventCreate(&begin_), "cudaEventCreate");
    Check(cudaEventCreate(&end_), "cudaEventCreate");
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
  }
  cudaStream_t stream() const { return stream_; }
  // Seconds that `run(stream)` takes with a cold L2.
  template <typename Run>
  double Cold(Run run) {
    Check(cudaMemsetAsync(flush_.at(), ++turn_ & 0xFF, kFlushBytes, stream_), "flush");
    Check(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    Check(run(stream_), "launch");
    Check(cudaEventRecord(end_, stream_), "cudaEventRecord");
    Check(cudaEventSynchronize(end_), "kernel");
    float milliseconds = 0;
    Check(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return milliseconds * 1e-3;
  }

 private:
  static constexpr int64_t kFlushBytes = int64_t{256} << 20;
  Memory<uint32_t> flush_;
  int turn_ = 0;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// The figures of the median: microseconds, bytes/s and operations/s with their shares of the
// ceilings.
inline void Report(benchmark::State& state, const Work& work, const std::vector<double>& seconds) {
  const double median = Median(seconds);
  if (median <= 0) return;
  const Ceilings& ceilings = MeasuredCeilings();
  state.counters["median_us"] = median * 1e6;
  state.counters["bytes/s"] = work.bytes / median;
  state.counters["of_read"] = work.bytes / median / ceilings.read_bytes;
  if (work.operations <= 0) return;
  state.counters["op/s"] = work.operations / median;
  state.counters["of_f16"] = work.operations / median / ceilings.f16_operations;
}

// `launch(stream)` once a timing, L2 cold: for what takes tens of microseconds or more, for the
// events and the start of a kernel lie within (about 2 us).
template <typename Launch>
void MeasureCold(benchmark::State& state, const Work& work, Launch launch) {
  MeasuredCeilings();
  Timer timer;
  timer.Cold(launch);  // loads the kernel
  std::vector<double> seconds;
  for (auto _ : state) {
    seconds.push_back(timer.Cold(launch));
    state.SetIterationTime(seconds.back());
  }
  Report(state, work, seconds);
}

// launch(i, stream), i in [0, count), one behind the other in a CUDA graph, as decoding runs them;
// the time is that of one, work too. Each i with arrays of its own is a cold one.
template <typename Launch>
void MeasureChain(benchmark::State& state, const Work& work, int count, Launch launch) {
  MeasuredCeilings();
  Timer timer;
  Check(launch(0, timer.stream()), "launch");
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t chain = nullptr;
  Check(cudaStreamBeginCapture(timer.stream(), cudaStreamCaptureModeThreadLocal), "capture");
  for (int i = 0; i < count; ++i) Check(launch(i, timer.stream()), "launch");
  Check(cudaStreamEndCapture(timer.stream(), &graph), "capture");
  Check(cudaGraphInstantiate(&chain, graph, 0), "cudaGraphInstantiate");
  const auto replay = [&](cudaStream_t stream) { return cudaGraphLaunch(chain, stream); };
  timer.Cold(replay);
  std::vector<double> seconds;
  for (auto _ : state) {
    seconds.push_back(timer.Cold(replay) / count);
    state.SetIterationTime(seconds.back());
  }
  Check(cudaGraphExecDestroy(chain), "cudaGraphExecDestroy");
  Check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  Report(state, work, seconds);
}

}  // namespace fg::cuda::bench
