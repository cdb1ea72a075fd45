#include "gates/statistics/paired_procedure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace flipgate {
namespace {

constexpr int kLookCount = static_cast<int>(std::size(kSpeedLooks));

// sqrt(24.32 / 7): a sample of 8 normal values has a standard deviation above 1.864 times the true
// one once in a thousand (chi-square with 7 degrees of freedom). Without it every second
// measurement whose true spread is just at the bound would be stopped.
constexpr double kSpreadChance = 1.864;

double StandardDeviation(const std::vector<double>& values) {
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// The two-sided normal quantile of a small tail: z with P(|Z| > z) = alpha, by bisection.
double NormalQuantile(double alpha) {
  double low = 0, high = 40;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) > alpha ? low : high) = middle;
  }
  return low;
}

double SlowerAlpha(int cells) { return 0.05 / (kLookCount * cells); }

}  // namespace

const char* SpeedVerdictName(SpeedVerdict verdict) {
  switch (verdict) {
    case SpeedVerdict::kSlower:
      return "slower";
    case SpeedVerdict::kFaster:
      return "faster";
    case SpeedVerdict::kFlat:
      return "flat";
    case SpeedVerdict::kUndecided:
      return "undecided";
  }
  return "?";
}

int UnitsNeeded(double spread, int cells) {
  const double root = NormalQuantile(SlowerAlpha(cells)) * spread / kSpeedMargin;
  // 3/pi: the efficiency of the estimate beside the mean, for normal values.
  return static_cast<int>(std::ceil(std::min(root * root * M_PI / 3, 1e6)));
}

void PairedProcedure::Add(double value) {
  assert(!done_ && std::isfinite(value));
  values_.push_back(value);
  if (values_.size() == static_cast<size_t>(kSpreadUnits)) CheckSpread();
  const bool look = std::find(std::begin(kSpeedLooks), std::end(kSpeedLooks),
                              static_cast<int>(values_.size())) != std::end(kSpeedLooks);
  if (!done_ && look) Look();
}

int PairedProcedure::NextLook() const {
  for (const int units : kSpeedLooks) {
    if (units > static_cast<int>(values_.size())) return units;
  }
  return kSpeedLooks[kLookCount - 1];
}

void PairedProcedure::CheckSpread() {
  spread_ = StandardDeviation(values_);
  if (*spread_ <= kSpreadChance * 2 * kSpeedMargin) return;
  done_ = true;
  reason_ = fmt::format("noise {:.1f} %, needs about {} units", 100 * std::expm1(*spread_),
                        UnitsNeeded(*spread_, cells_));
}

void PairedProcedure::Look() {
  SpeedLook look;
  look.units = static_cast<int>(values_.size());
  look.estimate = HodgesLehmann(values_);
  const auto slower = SignedRankInterval(values_, 1 - SlowerAlpha(cells_));
  const auto faster = SignedRankInterval(values_, 1 - 0.05 / kLookCount);
  const auto flat = SignedRankInterval(values_, 1 - 0.08 / kLookCount);
  // 16 units reach a confidence of 1 - 2^-15: enough for up to 546 cells.
  constexpr double kWhole = 1e9;
  look.slower = slower.value_or(Interval{-kWhole, kWhole});
  look.faster = faster.value_or(Interval{-kWhole, kWhole});
  look.flat = flat.value_or(Interval{-kWhole, kWhole});
  if (look.slower.Below(0) && look.estimate <= -kSpeedMargin) look.verdict = SpeedVerdict::kSlower;
  if (look.faster.Above(0) && look.estimate >= kSpeedMargin) look.verdict = SpeedVerdict::kFaster;
  if (look.flat.Within(kSpeedMargin)) look.verdict = SpeedVerdict::kFlat;
  looks_.push_back(look);
  verdict_ = look.verdict;
  const bool last = look.units == kSpeedLooks[kLookCount - 1];
  done_ = last || verdict_ != SpeedVerdict::kUndecided;
  if (last && verdict_ == SpeedVerdict::kUndecided) {
    const double spread = StandardDeviation(values_);
    reason_ = fmt::format("noise {:.1f} %, {} units left it open, needs about {}",
                          100 * std::expm1(spread), look.units,
                          std::max(UnitsNeeded(spread, cells_), look.units + 1));
  }
}

}  // namespace flipgate
