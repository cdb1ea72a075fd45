// Graphs that a backend prepared, kept by their parameters.
#pragma once

#include <list>
#include <memory>

#include "base/status.h"
#include "engine/backend/backend.h"
#include "engine/graph/graph.h"
#include "engine/ledger.h"

namespace fg {

class GraphCache {
 public:
  // A long prompt, its rest and the decode step are three; conversations vary the rest.
  static constexpr size_t kMostGraphs = 16;

  // Both outlive the cache.
  GraphCache(Backend* backend, Ledger* ledger) : backend_(backend), ledger_(ledger) {}

  // The graph of `params`: the cached one, or a new one that stays cached until kMostGraphs others
  // were used after it. With reuse false a new one that is not kept. Counted in the ledger either
  // way; *reused, where it is not null, says which. Errors of Backend::Prepare.
  Result<std::shared_ptr<const ExecutableGraph>> Get(const GraphParams& params, bool reuse,
                                                     bool* reused = nullptr);
  void Clear() { graphs_.clear(); }
  size_t size() const { return graphs_.size(); }

 private:
  Backend* backend_;
  Ledger* ledger_;
  std::list<std::shared_ptr<const ExecutableGraph>> graphs_;  // the last used first
};

}  // namespace fg
