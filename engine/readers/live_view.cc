#include "engine/readers/live_view.h"

#include <chrono>
#include <cstdio>

#include "engine/gates_settings.h"

namespace fg {

Result<std::unique_ptr<Reader>> LiveView::Create(const std::string& port) {
  FG_ASSIGN_OR_RETURN(const int number, ReadPort(port));
  std::unique_ptr<LiveView> view(new LiveView());
  FG_ASSIGN_OR_RETURN(view->server_, LiveServer::Start(number, &view->feed_));
  std::fprintf(stderr, "fg-engine: FG_LIVE: http://127.0.0.1:%d/\n", view->port());
  return std::unique_ptr<Reader>(std::move(view));
}

Status LiveView::Say(const Json& event) {
  std::string line = JsonLine(event);
  line.pop_back();
  feed_.Add(std::move(line));
  server_->Wake();
  return Status::Ok();
}

Status LiveView::Begin(const SeenForward& forward) {
  return Say({{"kind", "forward"},
              {"forward", forward.index},
              {"phase", PhaseName(forward.phase)},
              {"rows", forward.graph.params.rows},
              {"graph", forward.graph.identity},
              {"nodes", forward.graph.nodes.size()}});
}

Status LiveView::After(SeenNode& node) {
  return Say({{"kind", "node"},
              {"forward", node.forward().index},
              {"index", node.run().index},
              {"op", GraphOpName(node.node().op)},
              {"weight", node.node().weight},
              {"rows", node.node().rows},
              {"columns", node.node().columns},
              {"label", node.run().label},
              {"seconds", node.run().seconds},
              {"statistics", StatisticsJson(node)}});
}

Status LiveView::End(const SeenForward& forward, ReaderClock::time_point now) {
  const std::chrono::duration<double> took = now - forward.begin;
  return Say({{"kind", "end"}, {"forward", forward.index}, {"seconds", took.count()}});
}

}  // namespace fg
