// parity: is the number right?
//
// Defends against a fault that two code paths share, which no comparison between them can see.
// Operations through the engine's own dispatch are held against a numpy model of the arithmetic,
// bit for bit, and against float64 within what rounding explains; so are activation planes, where
// the separate prepass and the fused producers of both modes owe the same bytes, tails included,
// and mode 2 leaves its f32 buffer as it was. Logits of whole prompts, teacher-forced along the
// float64 oracle's tokens in one forward of 16 rows or more, are held within the pinned tolerance,
// the top token equal wherever the oracle's margin exceeds it. Both oracles are independent of the
// engine (docs/oracle.md). On a class whose sums have orders of their own the operations are held
// against float64 alone, within a named tolerance, and every layer against the same engine on
// another class. Faults: nibbles_swapped, min_dropped, raw_tail_skipped,
// coarse_activations, nan_logits, chunk_off_plane, q6k_scales_swapped, scales_rounded,
// tail_rows_dirty, skip_write_writes. Bisect: a predicate as it is.
#pragma once

#include "gates/evidence.h"

namespace flipgate {

CellResult RunParity(RunContext& context, const CellId& cell);

}  // namespace flipgate
