// optout: does `0` bring the old path back?
//
// Defends against a way out that is rusted shut: a `0` that is ignored, or an old path that no
// longer works. With the gate at off its new labels are gone and the old ones stand in their
// counts, the stream equals the snapshot's under the same variables, and the oracle's tokens within
// tolerance (the independent arm). Faults: optout_ignored, optout_q6k_ignored. Bisect: a predicate
// as it is.
#pragma once

#include "gates/evidence.h"

namespace flipgate {

CellResult RunOptout(RunContext& context, const CellId& cell);

}  // namespace flipgate
