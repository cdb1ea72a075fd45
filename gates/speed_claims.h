// What a measured speed means for a gate: its claim and what it may cost (docs/matrix.md
// "Budgets").
#pragma once

#include <string>

#include "gates/evidence.h"
#include "gates/matrix.h"
#include "gates/statistics/paired_procedure.h"

namespace flipgate {

struct SpeedFinding {
  Outcome outcome = Outcome::kPass;  // kPass, kFail, or kSkipped where nothing was decided
  std::string reason;                // empty for a pass
};

// `phase` is "prefill" or "decode"; B is the gate on, A the gate off. Without a claim the gate may
// not be slower; where may_cost names the phase ("-60 %") it may, down to that estimate.
SpeedFinding JudgeSpeed(const std::string& phase, const PairedProcedure& measured,
                        const GateBudget& budget);

}  // namespace flipgate
