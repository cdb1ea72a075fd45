// decode_neutral: did a prefill gate leak into decode?
//
// Defends against a prefill gate that is read, or acts, where fewer than 16 rows run. Prompts are
// fed one token a forward under every setting of the row (the gate off and opted in; for `default`
// an empty environment, all off, and each gate opted in): no gate is read in phase `decode`;
// labels, launches and streams are equal. Independent arm: the float64 oracle's greedy tokens.
// Faults: gate_read_in_decode. Bisect: a predicate as it is.
#pragma once

#include "gates/evidence.h"

namespace flipgate {

CellResult RunDecodeNeutral(RunContext& context, const CellId& cell);

}  // namespace flipgate
