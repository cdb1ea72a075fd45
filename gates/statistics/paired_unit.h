// One unit of a throughput measurement: a fresh engine of each arm, warm-ups, two quads of runs in
// an order by a fair coin. docs/statistics.md "The unit".
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/status.h"

namespace flipgate {

// The two phases that are timed, in this order wherever a pair of figures is meant.
inline constexpr int kTimedPhases = 2;
inline constexpr const char* kTimedPhaseNames[kTimedPhases] = {"prefill", "decode"};
using PhaseSpeeds = std::array<double, kTimedPhases>;  // tokens per second

// A started process. One run does both phases.
class TimedEngine {
 public:
  virtual ~TimedEngine() = default;
  virtual fg::Result<PhaseSpeeds> Run() = 0;  // finite and above 0, else kIo
};

using StartTimedEngine = std::function<fg::Result<std::unique_ptr<TimedEngine>>()>;

struct UnitRecord {
  bool b_started_first = false;
  std::array<std::string, 2> orders;  // "ABBA" or "BAAB", one a quad
  std::vector<PhaseSpeeds> a, b;      // the counted runs in time order: four each
  PhaseSpeeds value = {};             // ln(speed of B / speed of A), the mean over both quads
};

inline constexpr int kWarmUpRuns = 2;

// Starts both, warms up, measures. An engine's failure ends the unit with its status.
fg::Result<UnitRecord> MeasureUnit(const StartTimedEngine& start_a, const StartTimedEngine& start_b,
                                   std::mt19937_64* random);

}  // namespace flipgate
