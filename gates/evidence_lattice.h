// lattice: is some combination wrong that nobody tried?
//
// Defends against a cross term: a pair of gates, an instruction-set level or a thread count that no
// other cell combines. With every gate on whose bits are its own, all combinations of the same-bits
// gates at each level of this processor, and several thread counts on the default combination, must
// give one digest. Independent arm: the float64 oracle's greedy tokens. Faults: nibbles_swapped,
// min_dropped, raw_tail_skipped. Bisect: a predicate as it is; the failing combination narrows the
// gates at once.
#pragma once

#include "gates/evidence.h"

namespace flipgate {

CellResult RunLattice(RunContext& context, const CellId& cell);

}  // namespace flipgate
