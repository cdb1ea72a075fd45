// liveness: is the gate alive where it is on?
//
// Defends against a dead fast path behind a correct fallback, which no comparison of values can
// see. In the environment that turns the gate on (by default where it is promoted, opted in
// elsewhere, the gates that take its labels over at off) its labels must stand in the counts that
// the matrix derives from the model, and no label may carry '!'. Independent arm: the counts follow
// from the model's tensors and the forwards, not from the dispatch. Faults: dead_fast_path,
// fuse_dead. Bisect: a predicate as it is.
#pragma once

#include "gates/evidence.h"

namespace flipgate {

CellResult RunLiveness(RunContext& context, const CellId& cell);

}  // namespace flipgate
