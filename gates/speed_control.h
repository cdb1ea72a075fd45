// The control of a session's timings: the same program against itself, by the same units. What it
// calls, the machine did. docs/statistics.md "The control".
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "gates/statistics/paired_unit.h"

namespace flipgate {

class SpeedControl {
 public:
  // Units until the last look; its units alternate with the first cell's.
  bool Wants() const { return !alarm_ && units_.size() < 16; }
  void Add(const UnitRecord& unit);

  // "control: ..." once the program was called slower or faster than itself at 99 %.
  const std::optional<std::string>& alarm() const { return alarm_; }
  const std::vector<UnitRecord>& units() const { return units_; }

 private:
  std::vector<UnitRecord> units_;
  std::optional<std::string> alarm_;
};

}  // namespace flipgate
