// Tokens per second of prefill and decode, for the probe's `bench` and for `fg-engine bench`.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "engine/session/engine.h"

namespace fg {

struct BenchSeries {
  int64_t tokens = 0;           // in each repetition
  std::vector<double> seconds;  // one a repetition
  std::vector<double> TokensPerSecond() const;
};

// kBadRequest when `tokens` after `context` positions do not fit the engine's context.
Status CheckBenchFits(const Engine& engine, int64_t tokens, int64_t context);

// `tokens` after `context` positions, the highest logit's id of the last one; one warm-up (on
// a device two), then `repetitions` counted. The ids are fixed. kBadRequest as CheckBenchFits.
Result<BenchSeries> BenchPrefill(Engine& engine, int64_t tokens, int64_t repetitions,
                                 int64_t context = 0);

// `tokens` forwards of one fixed token each, each giving its highest logit's id, after `context`
// positions.
Result<BenchSeries> BenchDecode(Engine& engine, int64_t tokens, int64_t context,
                                int64_t repetitions);

// The kernels of one run, on a device that can time them.
struct KernelSeries {
  double seconds = 0;  // of that run, its timing included
  std::vector<KernelTime> kernels;
};
// Of `tokens` after `context` positions, after the same warm-ups. kBadRequest as CheckBenchFits,
// and where the device times no kernels.
Result<KernelSeries> BenchKernels(Engine& engine, int64_t tokens, int64_t context);

// The middle value, or the mean of the two in the middle. Not of an empty list.
double Median(std::vector<double> values);

}  // namespace fg
