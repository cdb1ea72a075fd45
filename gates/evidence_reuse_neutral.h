// reuse_neutral: did a gate reach the graph?
//
// Defends against a gate that acts on graph topology, a graph that is reused where it no longer
// fits, and a session that goes on with its keys and values one row off. A conversation of several
// turns runs under every setting of the row (as in decode_neutral): the topology identities, the
// graphs built and those reused are the same in all. With nothing set and with all gates off the
// same turns run with every graph built anew, and in one request with the same row split: tokens
// and logits digests, byte for byte. Independent arm: the turns together are a prompt that the
// float64 oracle pinned as one; its greedy tokens and the highest logits hold within the tolerance.
// Faults: gate_in_graph, kv_row_off. Bisect: a predicate as it is.
#pragma once

#include "gates/evidence.h"

namespace flipgate {

CellResult RunReuseNeutral(RunContext& context, const CellId& cell);

}  // namespace flipgate
