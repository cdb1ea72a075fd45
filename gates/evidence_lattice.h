// lattice: is some combination wrong that nobody tried?
//
// Defends against a cross term: a pair of gates, an instruction-set level or a thread count that no
// other cell combines. With every gate on whose bits are its own, all combinations of the same-bits
// gates (each setting of a mode gate) at the best level of this processor, one of every distinct
// path at the other levels, and several thread counts with everything on, must give one digest; the
// distinct paths, counted by their labels, must be as many as the matrix says, so that no two
// combinations silently became one. Independent arms: the float64 oracle's greedy tokens; the
// number of paths follows from the path table. Faults: raw_tail_skipped, q6k_scales_swapped,
// scales_rounded, chunk_off_plane. Bisect: a predicate as it is; the failing combination narrows
// the gates at once.
#pragma once

#include "gates/evidence.h"

namespace flipgate {

CellResult RunLattice(RunContext& context, const CellId& cell);

}  // namespace flipgate
