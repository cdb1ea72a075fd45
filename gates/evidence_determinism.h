// determinism: does the same question always get the same answer?
//
// Defends against a result that depends on who arrived first, on the number of threads, or on what
// ran before. A way of asking is an arm: the prompt in one forward or cut into rows, a long prompt
// cold, wholly cached, or cached but for its last 7 tokens. Within an arm repeats are equal bit for
// bit, in one process and in a fresh one; so are thread counts, which owe each other the same bits.
// Arms take other paths (rows decide which kernels run) and are never mixed in one verdict: between
// them the first step whose logits differ is reported with its margin, and tokens must agree where
// the margin exceeds the named tolerance. Independent: the float64 oracle's greedy tokens, where
// the model has pins. Faults: thread_sum, racing_sum. Bisect: a predicate as it is.
#pragma once

#include "gates/evidence.h"

namespace flipgate {

CellResult RunDeterminism(RunContext& context, const CellId& cell);

}  // namespace flipgate
