// backstop: does a broken promise speak up?
//
// Defends against a skip-write window that is left open: a consumer that reads a buffer nobody
// wrote, or a plane that belongs to what stood at its address before. The probe's `op` `forward`
// breaks one promise in earnest (docs/probe.md, `violate`); it must end in an error of kind
// `refused` that names the cause, the ledger must hold that refusal once, no file and no token may
// come out, and the same engine must then generate as it did before. The same forward without a
// violation is the control. Independent arm: the control's logits against the float64 oracle's.
// Faults: stale_plane_hit, dead_write_read. Bisect: a predicate as it is.
#pragma once

#include "gates/evidence.h"

namespace flipgate {

CellResult RunBackstop(RunContext& context, const CellId& cell);

}  // namespace flipgate
