// The skip-write window, read off a graph. docs/arithmetic.md "The skip-write window".
#pragma once

#include <vector>

#include "engine/graph/graph.h"

namespace fg {

// For each node, whether it may hand its rows over as a quantized plane alone: an rms_norm or
// swiglu of 16 rows or more whose every reader is a matmul of that one input, the readers standing
// right behind it with no other node between. So nobody else reads its buffer, and the plane cache
// is not cleared before its last reader. A function of the nodes alone, whatever they are called.
std::vector<bool> FuseWindow(const Graph& graph);

}  // namespace fg
