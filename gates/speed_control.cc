#include "gates/speed_control.h"

#include <fmt/format.h>

#include <cmath>

#include "gates/statistics/paired_procedure.h"

namespace flipgate {

void SpeedControl::Add(const UnitRecord& unit) {
  units_.push_back(unit);
  if (Wants()) return;
  for (int phase = 0; phase < kTimedPhases && !alarm_; ++phase) {
    std::vector<double> values;
    for (const UnitRecord& record : units_) values.push_back(record.value[phase]);
    const double estimate = HodgesLehmann(values);
    const auto interval = SignedRankInterval(values, 0.99);
    const bool called = interval && (interval->Below(0) || interval->Above(0)) &&
                        std::abs(estimate) >= kSpeedMargin;
    if (!called) continue;
    alarm_ = fmt::format(
        "control: the same program against itself reads {:+.1f} % in {} over {} units; this "
        "machine cannot time now, so quiet it (flipgate doctor) and run again",
        100 * std::expm1(estimate), kTimedPhaseNames[phase], units_.size());
  }
}

}  // namespace flipgate
