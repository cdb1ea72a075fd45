#include "engine/probe/bench_ceiling.h"

#include <omp.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "kernels/cpu/peak.h"
#include "kernels/cpu/range.h"

namespace fg {
namespace {

constexpr uint64_t kGrain = 512;  // bytes: 64 words
// Short and many: on a machine where others run too, some fall into a quiet moment.
constexpr double kLongEnough = 0.005;  // seconds of one measurement
constexpr int kRuns = 8;

// Doubles *work until it takes long enough, then takes the best of some runs: units of work a
// second.
double BestRate(int64_t* work, const std::function<double(int64_t)>& seconds_of) {
  double seconds = seconds_of(*work);
  while (seconds < kLongEnough && *work < (int64_t{1} << 40)) {
    *work *= 2;
    seconds = seconds_of(*work);
  }
  for (int run = 1; run < kRuns; ++run) seconds = std::min(seconds, seconds_of(*work));
  return static_cast<double>(*work) / std::max(seconds, 1e-9);
}

// Seconds from the moment when all threads are there until the last one is done.
template <typename Body>
double SecondsOf(int threads, const Body& body) {
  std::chrono::steady_clock::time_point begin, end;
  uint64_t sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
  {
    const int thread = omp_get_thread_num(), count = omp_get_num_threads();
#pragma omp barrier
#pragma omp master
    begin = std::chrono::steady_clock::now();
    sum += body(thread, count);
#pragma omp barrier
#pragma omp master
    end = std::chrono::steady_clock::now();
  }
  // The sums are looked at, so that no compiler leaves the work out.
  asm volatile("" : : "r"(sum));
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

Result<std::unique_ptr<BenchCeiling>> BenchCeiling::Make(CpuLevel level, int threads,
                                                         uint64_t read_bytes) {
  const uint64_t bytes = std::clamp<uint64_t>(read_bytes / kGrain * kGrain, 4096, kMostReadBytes);
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return Status(ErrorKind::kOutOfMemory,
                  "no memory for " + std::to_string(bytes >> 20) + " MiB to read for comparison");
  }
  std::unique_ptr<BenchCeiling> ceiling(
      new BenchCeiling(level, threads, bytes, static_cast<uint64_t*>(data)));
  // Each thread writes what it will read, so that the pages lie near it and are its own.
  SecondsOf(threads, [&](int thread, int count) {
    const Range share = Share(static_cast<int64_t>(bytes), thread, count, kGrain);
    for (int64_t i = share.begin / 8; i < share.end / 8; ++i) {
      ceiling->data_[i] = static_cast<uint64_t>(i);
    }
    return uint64_t{0};
  });
  return ceiling;
}

BenchCeiling::~BenchCeiling() { ::munmap(data_, bytes_); }

double BenchCeiling::ReadSeconds(int64_t passes) const {
  return SecondsOf(threads_, [&](int thread, int count) {
    const Range share = Share(static_cast<int64_t>(bytes_), thread, count, kGrain);
    uint64_t sum = 0;
    for (int64_t pass = 0; pass < passes; ++pass) {
      sum += RunPlainRead(level_, data_ + share.begin / 8,
                          static_cast<size_t>(share.end - share.begin) / 8);
    }
    return sum;
  });
}

double BenchCeiling::Int8Seconds(int64_t rounds) const {
  return SecondsOf(threads_, [&](int thread, int) {
    return uint64_t{RunInt8Peak(level_, rounds, static_cast<uint8_t>(thread & 15), 77)};
  });
}

void BenchCeiling::Measure() {
  const double passes = BestRate(&passes_, [this](int64_t work) { return ReadSeconds(work); });
  read_ = std::max(read_, passes * static_cast<double>(bytes_));
  const double rounds = BestRate(&rounds_, [this](int64_t work) { return Int8Seconds(work); });
  int8_ = std::max(int8_, rounds * static_cast<double>(Int8PeakMacs(level_)) * threads_);
}

}  // namespace fg
