#include "engine/backend/graph_cache.h"

#include <algorithm>
#include <utility>

namespace fg {

Result<std::shared_ptr<const ExecutableGraph>> GraphCache::Get(const GraphParams& params,
                                                               bool reuse, bool* reused) {
  if (reused != nullptr) *reused = false;
  if (reuse) {
    const auto found = std::find_if(graphs_.begin(), graphs_.end(), [&](const auto& cached) {
      return cached->graph().params == params;
    });
    if (found != graphs_.end()) {
      graphs_.splice(graphs_.begin(), graphs_, found);
      if (reused != nullptr) *reused = true;
      ledger_->CountGraph(true, graphs_.front()->graph().identity);
      return graphs_.front();
    }
  }
  FG_ASSIGN_OR_RETURN(std::unique_ptr<ExecutableGraph> prepared,
                      backend_->Prepare(BuildGraph(params)));
  const std::shared_ptr<const ExecutableGraph> graph = std::move(prepared);
  ledger_->CountGraph(false, graph->graph().identity);
  if (!reuse) return graph;
  graphs_.push_front(graph);
  if (graphs_.size() > kMostGraphs) graphs_.pop_back();
  return graph;
}

}  // namespace fg
