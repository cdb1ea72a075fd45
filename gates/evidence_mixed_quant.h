// mixed_quant: is it safe on models it was not tuned on?
//
// Defends against a fast path that takes a weight it cannot consume, on the models nobody tuned it
// on: a producer that skips the f32 values while a matmul reads them. On models whose weights or
// widths forbid the mode that is asked for, the mode is the one that the ladder of
// docs/arithmetic.md makes of the table of weights that load gives, the degradations bear exactly
// its reasons, the weight-mix flag is what that table says, the fused producers' labels stand in
// the counts of that mode, and the streams of all modes are equal. Independent arms: the ladder is
// worked out here from counts of tensors; the float64 oracle's greedy tokens. Faults:
// weight_mix_ignored, weight_mix_blind_to_f16. Bisect: a predicate as it is.
#pragma once

#include "gates/evidence.h"

namespace flipgate {

CellResult RunMixedQuant(RunContext& context, const CellId& cell);

}  // namespace flipgate
