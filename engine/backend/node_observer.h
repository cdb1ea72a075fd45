// Sees nodes as they run: what the graph dump, the dump directory, the trace and the live view hang
// on (docs/readers.md).
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "engine/graph/graph.h"
#include "engine/phase.h"

namespace fg {

// A node that has just run.
struct NodeRun {
  int index = 0;  // in graph.nodes
  const Node& node;
  // [node.rows][node.columns]; null for a node without a buffer. Valid during the call alone.
  const float* values = nullptr;
  std::string label;  // the dispatch label
  double seconds = 0;
};

class NodeObserver {
 public:
  virtual ~NodeObserver() = default;
  // One execution: BeginForward, AfterNode for each node in order, EndForward. `forward` counts the
  // executions of this engine from 0. An error ends the forward with it.
  virtual Status BeginForward(int64_t forward, const Graph& graph, Phase phase) = 0;
  virtual Status AfterNode(const NodeRun& run) = 0;
  virtual Status EndForward() = 0;
};

}  // namespace fg
