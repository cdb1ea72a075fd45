// FG_GRAPH_DUMP: each topology once, and what every node of every execution gave.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "engine/readers/reader.h"
#include "engine/readers/reader_file.h"

namespace fg {

class GraphDump : public Reader {
 public:
  // A file named *.dot or *.gv holds Graphviz graphs and the executions as comments in JSON; any
  // other holds JSON lines. Formats: docs/readers.md.
  static Result<std::unique_ptr<Reader>> Create(const std::string& path);

  Status Begin(const SeenForward& forward) override;
  Status After(SeenNode& node) override;
  Status End(const SeenForward& forward, ReaderClock::time_point now) override;

 private:
  GraphDump(std::unique_ptr<ReaderFile> file, bool dot) : file_(std::move(file)), dot_(dot) {}
  Status Say(const Json& json);

  std::unique_ptr<ReaderFile> file_;
  bool dot_;
  std::set<std::string> known_;  // identities of the topologies that are in the file
};

// The graph as a digraph, a statement a line.
std::string GraphDot(const Graph& graph);
// {"kind": "graph", "identity", "rows", "wanted", "nodes": [...]}
Json GraphJson(const Graph& graph);

}  // namespace fg
