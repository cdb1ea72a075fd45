// Runs of a small graph with made-up values, for the readers' tests.
#pragma once

#include <vector>

#include "engine/backend/node_observer.h"
#include "engine/graph/graph.h"

namespace fg {

inline Graph FakeGraph(int64_t rows, int64_t wanted = 1) {
  const ModelShape shape = {.layers = 2,
                            .width = 8,
                            .ffn = 12,
                            .heads = 2,
                            .kv_heads = 1,
                            .head_dim = 4,
                            .vocabulary = 5,
                            .tied_output = false};
  return BuildGraph({shape, rows, wanted});
}

// The values of a node: different for each forward, node and place.
inline std::vector<float> FakeValues(int64_t forward, int index, const Node& node) {
  std::vector<float> values(static_cast<size_t>(node.rows * node.columns));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(forward * 10000 + index * 100) + static_cast<float>(i) / 4;
  }
  return values;
}

// One forward as a backend would show it; ends at the first error.
inline Status ShowForward(NodeObserver& observer, int64_t forward, const Graph& graph,
                          Phase phase) {
  FG_RETURN_IF_ERROR(observer.BeginForward(forward, graph, phase));
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const int index = static_cast<int>(i);
    const std::vector<float> values = FakeValues(forward, index, node);
    const float* seen = node.columns > 0 ? values.data() : nullptr;
    const std::string label = std::string(GraphOpName(node.op)) + ".fake";
    FG_RETURN_IF_ERROR(observer.AfterNode({index, node, seen, label, 0.001}));
  }
  return observer.EndForward();
}

}  // namespace fg
