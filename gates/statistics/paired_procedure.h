// The sequential procedure that decides a pair of programs by paired units: `slower`, `faster`,
// `flat` or `undecided`. docs/statistics.md says why each part is there and what its error rates
// are.
//
// A unit's value is ln(speed of B / speed of A), measured on a fresh process of each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gates/statistics/signed_rank.h"

namespace flipgate {

enum class SpeedVerdict { kSlower, kFaster, kFlat, kUndecided };
const char* SpeedVerdictName(SpeedVerdict verdict);  // "slower", ...

// ln 1.015: differences below 1.5 % are called flat.
inline constexpr double kSpeedMargin = 0.014888612493750559;
// Units after which the data are looked at, and nowhere else.
inline constexpr int kSpeedLooks[] = {16, 28, 40};
// After so many units a hopeless spread ends the measurement.
inline constexpr int kSpreadUnits = 8;

// One look at the data.
struct SpeedLook {
  int units = 0;
  double estimate = 0;  // Hodges-Lehmann
  // Of `slower` at 1 - 0.05/(3K), of `faster` at 1 - 0.05/3, of `flat` at 1 - 0.08/3.
  Interval slower, faster, flat;
  SpeedVerdict verdict = SpeedVerdict::kUndecided;
};

class PairedProcedure {
 public:
  // `cells` is K, the throughput cells that the plan declares: each may call `slower` once.
  explicit PairedProcedure(int cells) : cells_(cells) {}

  // The next unit's value; finite (asserted). Not after Done().
  void Add(double value);
  bool Done() const { return done_; }
  // Units at the next look; the last look's where there is none.
  int NextLook() const;

  SpeedVerdict verdict() const { return verdict_; }
  // Why an undecided procedure ended: "noise 6.1 %, needs about 120 units", or that the last look
  // left it open; empty before the end and for a verdict.
  const std::string& reason() const { return reason_; }
  const std::vector<double>& values() const { return values_; }
  const std::vector<SpeedLook>& looks() const { return looks_; }
  // Standard deviation of the first kSpreadUnits values; nothing before.
  std::optional<double> spread() const { return spread_; }

 private:
  void CheckSpread();
  void Look();

  int cells_;
  std::vector<double> values_;
  std::vector<SpeedLook> looks_;
  std::optional<double> spread_;
  SpeedVerdict verdict_ = SpeedVerdict::kUndecided;
  std::string reason_;
  bool done_ = false;
};

// Units that a spread of `spread` needs until the interval of `slower` is no wider than the margin
// to either side, roughly (normal approximation).
int UnitsNeeded(double spread, int cells);

}  // namespace flipgate
