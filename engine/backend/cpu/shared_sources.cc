#include "engine/backend/cpu/shared_sources.h"

#include <map>
#include <utility>

#include "engine/phase.h"

namespace fg {
namespace {

std::vector<bool> MatmulSources(const Graph& graph, const BufferPlan& plan) {
  std::vector<bool> sources(graph.nodes.size(), false);
  for (const Node& node : graph.nodes) {
    if (node.op == GraphOp::kMatmul && node.rows >= kPrefillRows) sources[node.inputs[0]] = true;
  }
  for (size_t node = 0; node < sources.size(); ++node) {
    const int taken = plan.buffers[node].in_place_of;
    if (taken >= 0) sources[node] = sources[taken] = false;
    if (!graph.nodes[node].pooled()) sources[node] = false;
  }
  return sources;
}

}  // namespace

SharedSources FindSharedSources(const Graph& graph, const BufferPlan& plan) {
  struct Slot {
    int index;
    int last_use;
  };
  const std::vector<bool> sources = MatmulSources(graph, plan);
  SharedSources shared;
  shared.slot.assign(graph.nodes.size(), -1);
  std::map<std::pair<int64_t, int64_t>, Slot> by_shape;
  for (size_t node = 0; node < sources.size(); ++node) {
    if (!sources[node]) continue;
    const std::pair shape = {graph.nodes[node].rows, graph.nodes[node].columns};
    const auto [entry, is_new] =
        by_shape.try_emplace(shape, Slot{static_cast<int>(shared.bytes.size()), -1});
    if (is_new) shared.bytes.push_back(plan.buffers[node].bytes);
    Slot& slot = entry->second;
    if (static_cast<int>(node) <= slot.last_use) continue;
    shared.slot[node] = slot.index;
    slot.last_use = plan.buffers[node].last_use;
  }
  return shared;
}

}  // namespace fg
