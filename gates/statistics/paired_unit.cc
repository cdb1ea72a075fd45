#include "gates/statistics/paired_unit.h"

#include <cmath>
#include <utility>

namespace flipgate {
namespace {

using fg::Result;
using fg::Status;

// One bit of the generator: bernoulli_distribution is not the same in every standard library, and a
// recorded seed should mean the same orders everywhere.
bool Coin(std::mt19937_64* random) { return ((*random)() >> 63) != 0; }

Result<PhaseSpeeds> RunChecked(TimedEngine& engine) {
  FG_ASSIGN_OR_RETURN(const PhaseSpeeds speeds, engine.Run());
  for (int phase = 0; phase < kTimedPhases; ++phase) {
    if (std::isfinite(speeds[phase]) && speeds[phase] > 0) continue;
    return Status(fg::ErrorKind::kIo,
                  std::string("a run told no speed for ") + kTimedPhaseNames[phase]);
  }
  return speeds;
}

// The mean logarithm of each arm's two runs decides.
Status MeasureQuad(TimedEngine& a, TimedEngine& b, const std::string& order, UnitRecord* unit) {
  for (const char arm : order) {
    FG_ASSIGN_OR_RETURN(const PhaseSpeeds speeds, RunChecked(arm == 'A' ? a : b));
    (arm == 'A' ? unit->a : unit->b).push_back(speeds);
    // Two quads of two runs an arm.
    const double share = (arm == 'A' ? -1.0 : 1.0) / 4;
    for (int phase = 0; phase < kTimedPhases; ++phase)
      unit->value[phase] += share * std::log(speeds[phase]);
  }
  return Status::Ok();
}

}  // namespace

Result<UnitRecord> MeasureUnit(const StartTimedEngine& start_a, const StartTimedEngine& start_b,
                               std::mt19937_64* random) {
  UnitRecord unit;
  unit.b_started_first = Coin(random);
  std::unique_ptr<TimedEngine> a, b;
  for (const bool is_b : {unit.b_started_first, !unit.b_started_first}) {
    FG_ASSIGN_OR_RETURN((is_b ? b : a), (is_b ? start_b : start_a)());
    TimedEngine& started = is_b ? *b : *a;
    for (int run = 0; run < kWarmUpRuns; ++run) FG_RETURN_IF_ERROR(RunChecked(started).status());
  }
  for (std::string& order : unit.orders) {
    order = Coin(random) ? "BAAB" : "ABBA";
    FG_RETURN_IF_ERROR(MeasureQuad(*a, *b, order, &unit));
  }
  return unit;
}

}  // namespace flipgate
