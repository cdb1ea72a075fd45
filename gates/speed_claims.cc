#include "gates/speed_claims.h"

#include <fmt/format.h>

#include <cmath>

namespace flipgate {
namespace {

double Percent(double logarithm) { return 100 * std::expm1(logarithm); }

// The most that the phase may lose, as ln; 0 without a declaration.
double Allowed(const GateBudget& budget, const std::string& phase) {
  const auto cost = budget.may_cost.find(phase);
  if (cost == budget.may_cost.end()) return 0;
  return std::log1p(-std::abs(cost->second.amount) / 100);
}

}  // namespace

SpeedFinding JudgeSpeed(const std::string& phase, const PairedProcedure& measured,
                        const GateBudget& budget) {
  const SpeedVerdict verdict = measured.verdict();
  if (verdict == SpeedVerdict::kUndecided) {
    return {Outcome::kSkipped, fmt::format("{}: undecided, {}", phase, measured.reason())};
  }
  const double estimate = measured.looks().back().estimate;
  const std::string found =
      fmt::format("{} is {} ({:+.1f} %)", phase, SpeedVerdictName(verdict), Percent(estimate));
  const auto claim = budget.claims.find(phase);
  if (claim != budget.claims.end() && claim->second == "faster" &&
      verdict != SpeedVerdict::kFaster) {
    return {Outcome::kFail, fmt::format("{}, but the gate claims faster", found)};
  }
  if (verdict != SpeedVerdict::kSlower) return {};
  const double allowed = Allowed(budget, phase);
  if (estimate >= allowed && allowed < 0) return {};
  return {Outcome::kFail,
          allowed < 0
              ? fmt::format("{}, more than the {:.1f} % that it may cost", found, Percent(allowed))
              : fmt::format("{}; a gate that may cost speed says so in may_cost.{}", found, phase)};
}

}  // namespace flipgate
