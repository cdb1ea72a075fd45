#include "engine/graph/fuse_window.h"

#include <algorithm>

#include "engine/phase.h"

namespace fg {
namespace {

bool IsProducer(const Node& node) {
  return (node.op == GraphOp::kRmsNorm || node.op == GraphOp::kSwiglu) &&
         node.rows >= kPrefillRows && node.pooled();
}

// Whether `reader` takes `node`'s output and nothing else, and multiplies it.
bool IsMatmulOf(const Node& reader, int node) {
  return reader.op == GraphOp::kMatmul && reader.inputs == std::vector<int>{node};
}

bool Reads(const Node& reader, int node) {
  return std::find(reader.inputs.begin(), reader.inputs.end(), node) != reader.inputs.end();
}

}  // namespace

std::vector<bool> FuseWindow(const Graph& graph) {
  const int count = static_cast<int>(graph.nodes.size());
  std::vector<bool> window(graph.nodes.size(), false);
  for (int node = 0; node < count; ++node) {
    if (!IsProducer(graph.nodes[node])) continue;
    int next = node + 1;
    while (next < count && IsMatmulOf(graph.nodes[next], node)) ++next;
    bool read_later = false;
    for (int later = next; later < count; ++later) {
      read_later = read_later || Reads(graph.nodes[later], node);
    }
    window[node] = next > node + 1 && !read_later;
  }
  return window;
}

}  // namespace fg
