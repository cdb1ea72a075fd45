#include "engine/readers/graph_dump.h"

#include <chrono>

namespace fg {
namespace {

// A quoted string of Graphviz.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return quoted + "\"";
}

std::string NodeDot(int index, const Node& node) {
  const std::string name = "n" + std::to_string(index);
  std::string label = std::to_string(index) + " " + GraphOpName(node.op);
  if (!node.weight.empty()) label += " " + node.weight;
  label += " [" + std::to_string(node.rows) + ", " + std::to_string(node.columns) + "]";
  std::string text = "  " + name + " [label=" + Quoted(label) + "];\n";
  for (const int input : node.inputs) {
    text.append("  n").append(std::to_string(input)).append(" -> ").append(name).append(";\n");
  }
  return text;
}

}  // namespace

std::string GraphDot(const Graph& graph) {
  std::string text = "digraph " + Quoted(graph.identity) + " {\n  node [shape=box];\n";
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    text += NodeDot(static_cast<int>(i), graph.nodes[i]);
  }
  return text + "}\n";
}

Json GraphJson(const Graph& graph) {
  Json nodes = Json::array();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    nodes.push_back({{"index", i},
                     {"op", GraphOpName(node.op)},
                     {"inputs", node.inputs},
                     {"rows", node.rows},
                     {"columns", node.columns},
                     {"weight", node.weight},
                     {"bias", node.bias},
                     {"layer", LayerOfNode(node)}});
  }
  return {{"kind", "graph"},
          {"identity", graph.identity},
          {"rows", graph.params.rows},
          {"wanted", graph.params.wanted},
          {"nodes", std::move(nodes)}};
}

Result<std::unique_ptr<Reader>> GraphDump::Create(const std::string& path) {
  FG_ASSIGN_OR_RETURN(auto file, ReaderFile::Create("FG_GRAPH_DUMP", path));
  const bool dot = path.ends_with(".dot") || path.ends_with(".gv");
  return std::unique_ptr<Reader>(new GraphDump(std::move(file), dot));
}

Status GraphDump::Say(const Json& json) {
  return file_->Append((dot_ ? "// " : "") + JsonLine(json));
}

Status GraphDump::Begin(const SeenForward& forward) {
  const Graph& graph = forward.graph;
  if (known_.insert(graph.identity).second) {
    FG_RETURN_IF_ERROR(dot_ ? file_->Append(GraphDot(graph)) : Say(GraphJson(graph)));
  }
  return Say({{"kind", "forward"},
              {"forward", forward.index},
              {"phase", PhaseName(forward.phase)},
              {"graph", graph.identity}});
}

Status GraphDump::After(SeenNode& node) {
  return Say({{"kind", "node"},
              {"forward", node.forward().index},
              {"index", node.run().index},
              {"op", GraphOpName(node.node().op)},
              {"weight", node.node().weight},
              {"layer", LayerOfNode(node.node())},
              {"rows", node.node().rows},
              {"columns", node.node().columns},
              {"label", node.run().label},
              {"seconds", node.run().seconds},
              {"statistics", StatisticsJson(node)},
              {"sha256", node.sha256()}});
}

Status GraphDump::End(const SeenForward& forward, ReaderClock::time_point now) {
  const std::chrono::duration<double> took = now - forward.begin;
  return Say({{"kind", "end"}, {"forward", forward.index}, {"seconds", took.count()}});
}

}  // namespace fg
