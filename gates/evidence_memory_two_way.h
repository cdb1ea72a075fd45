// memory_two_way: what does each direction cost?
//
// Defends against a cache that is built in vain or leaked, bytes that nobody booked, and a way out
// that costs more than anybody knew. Two fresh processes, the gate on and off (its needs on, every
// other gate off), each with one long prompt and some decode: the ledger's categories stand in the
// relations that the matrix declares, the anonymous memory that the system reports agrees with what
// was booked within a stated share, and the difference keeps claims and budget. Independent arms:
// the relations follow from the model's tensors; the system's figures from the kernel. Faults:
// cache_leaked, unbooked_memory, plane_for_tail. Bisect: a predicate as it is; for a claim that no
// longer holds the verdict is a matter of configuration.
#pragma once

#include "gates/evidence.h"

namespace flipgate {

CellResult RunMemoryTwoWay(RunContext& context, const CellId& cell);

}  // namespace flipgate
