// greedy_contrast: did the promotion only move the switch?
//
// Defends against a flip that changes more than which path runs: a default that is not the
// configuration that was proven, a value read in another place, a build that differs. The snapshot,
// an older build with every gate given, is held against head with only the named ones given: tokens
// and logits digests, byte for byte. Independent arm: the float64 oracle's greedy tokens
// (docs/oracle.md). Faults: nibbles_swapped, default_moves_more, crash. Bisect: a predicate as it
// is; deterministic, one run an arm suffices.
#pragma once

#include "gates/evidence.h"

namespace flipgate {

CellResult RunGreedyContrast(RunContext& context, const CellId& cell);

}  // namespace flipgate
