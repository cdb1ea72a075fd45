// quality: does another numeric path still answer as well?
//
// Defends against a path that is right by its own arithmetic and worse as an answer. On held text
// (never trained on) the gate's path is held against the same file with its weights dequantized to
// f32, which takes neither int8 activations nor an f16 rounding: mean KL divergence, top-1
// agreement and the ratio of perplexities, each within a named tolerance. Independent arm: the held
// text itself, by its perplexity. Faults: coarse_activations, q6k_coarse. Bisect: a predicate with
// the same tolerances.
#pragma once

#include "gates/evidence.h"

namespace flipgate {

CellResult RunQuality(RunContext& context, const CellId& cell);

}  // namespace flipgate
