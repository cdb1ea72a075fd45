// What this machine can do at most, measured with the threads and the level of the test beside it.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "kernels/cpu/cpu_level.h"

namespace fg {

constexpr uint64_t kMostReadBytes = uint64_t{1} << 30;  // of the buffer; more reads no faster

class BenchCeiling {
 public:
  // A buffer of `read_bytes`, at least 4 KiB and at most kMostReadBytes. kOutOfMemory.
  static Result<std::unique_ptr<BenchCeiling>> Make(CpuLevel level, int threads,
                                                    uint64_t read_bytes);
  ~BenchCeiling();
  BenchCeiling(const BenchCeiling&) = delete;
  BenchCeiling& operator=(const BenchCeiling&) = delete;

  // Measures both again; the figures are the best so far. A tenth of a second or so each.
  void Measure();
  double read_bytes_per_second() const { return read_; }
  double int8_macs_per_second() const { return int8_; }
  uint64_t read_bytes() const { return bytes_; }

 private:
  BenchCeiling(CpuLevel level, int threads, uint64_t bytes, uint64_t* data)
      : level_(level), threads_(threads), bytes_(bytes), data_(data) {}
  double ReadSeconds(int64_t passes) const;
  double Int8Seconds(int64_t rounds) const;

  const CpuLevel level_;
  const int threads_;
  const uint64_t bytes_;
  uint64_t* const data_;
  int64_t passes_ = 1, rounds_ = 1024;  // of one measurement, found at the first one
  double read_ = 0, int8_ = 0;
};

}  // namespace fg
