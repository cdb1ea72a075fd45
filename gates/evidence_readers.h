// readers: do dumps and traces still see true values?
//
// Defends against a reader of intermediate values that shows memory nobody wrote: a producer that
// skips its f32 values must write them as soon as somebody looks. Each reader alone (graph dump,
// dump folder, trace, live view), and the per-row kernels that FG_PREFILL_GEMM=0 forces, bring the
// mode down to 1 with their reason, leave the stream as it was without them, and leave something to
// read (the live view's page answers on its port). The dump of every node equals that of mode 0,
// byte for byte, none missing. Independent arms: the float64 oracle's greedy tokens; the dump's own
// logits, whose sum must be the digest that `generate` told. Faults: dump_reads_skipped. Bisect: a
// predicate as it is.
#pragma once

#include "gates/evidence.h"

namespace flipgate {

CellResult RunReaders(RunContext& context, const CellId& cell);

}  // namespace flipgate
