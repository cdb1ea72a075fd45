// Which matmul sources of a graph could lie at one address: what Violation::kStalePlane puts there.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/graph/buffer_plan.h"
#include "engine/graph/graph.h"

namespace fg {

struct SharedSources {
  std::vector<int> slot;       // one a node; -1: stays where the plan has it
  std::vector<int64_t> bytes;  // of each slot
};

// Nodes that matmuls of 16 rows or more read share a slot where their shapes are equal and no two
// of them live at once, as an allocator may place them. None that runs in place, or in whose place
// another runs.
SharedSources FindSharedSources(const Graph& graph, const BufferPlan& plan);

}  // namespace fg
