#pragma once

namespace fg {

// What a forward is: prefill with 16 rows or more, its tail included, else decode. Loading a model
// and building a graph are phases of their own.
enum class Phase { kLoad, kGraph, kPrefill, kDecode };
constexpr int kPhases = 4;
const char* PhaseName(Phase phase);  // "load", "graph", "prefill", "decode"

// From this many rows on a matmul may take the prefill kernels.
constexpr int kPrefillRows = 16;
// The tail of a graph works in slices of at most this many rows (docs/arithmetic.md).
constexpr int kTailRows = 15;

}  // namespace fg
