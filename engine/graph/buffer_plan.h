// Where each node's output lies in one pool, and for how long.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/graph/graph.h"

namespace fg {

struct BufferPlan {
  static constexpr int64_t kAlignment = 64;  // bytes, of every buffer

  struct Buffer {
    int64_t offset = -1;   // bytes into the pool; -1 for a node without a buffer there
    int64_t bytes = 0;     // without padding
    int last_use = -1;     // the last node that reads it; itself when nobody does
    int in_place_of = -1;  // the input whose memory it took over, which dies at this node
  };
  std::vector<Buffer> buffers;  // one a node
  int64_t peak = 0;             // bytes that the pool needs
};

// First fit over the nodes in order; a buffer is free again after its last use. rope and add may
// take over the memory of an input that dies at them; rms_norm and swiglu never (docs/arithmetic.md
// "The skip-write window").
BufferPlan PlanBuffers(const Graph& graph);

}  // namespace fg
