#include "engine/backend/graph_cache.h"

#include <gtest/gtest.h>

namespace fg {
namespace {

class CountedGraph : public ExecutableGraph {
 public:
  CountedGraph(Graph graph, int* alive) : graph_(std::move(graph)), alive_(alive) { ++*alive_; }
  ~CountedGraph() override { --*alive_; }
  const Graph& graph() const override { return graph_; }

 private:
  Graph graph_;
  int* alive_;
};

// Prepares and runs nothing; fails on demand.
class CountingBackend : public Backend {
 public:
  Status LoadModel(const Hyperparameters&, const ModelWeights&, const BackendOptions&) override {
    return Status::Ok();
  }
  const LoadReport& load_report() const override { return report; }
  Result<std::unique_ptr<ExecutableGraph>> Prepare(Graph graph) override {
    if (full) return Status(ErrorKind::kOutOfMemory, "no room");
    return std::unique_ptr<ExecutableGraph>(
        std::make_unique<CountedGraph>(std::move(graph), &alive));
  }
  Result<std::unique_ptr<KvCache>> NewKvCache() override { return std::make_unique<KvCache>(); }
  void Observe(NodeObserver*) override {}
  Status Execute(const ExecutableGraph&, const ForwardInputs&) override { return Status::Ok(); }

  LoadReport report;
  int alive = 0;
  bool full = false;
};

GraphParams Params(int64_t rows, int64_t wanted = 0) {
  return {{.layers = 1,
           .width = 8,
           .ffn = 8,
           .heads = 1,
           .kv_heads = 1,
           .head_dim = 8,
           .vocabulary = 9,
           .tied_output = false},
          rows,
          wanted};
}

TEST(GraphCache, ReusesByParameters) {
  CountingBackend backend;
  Ledger ledger;
  GraphCache cache(&backend, &ledger);
  const auto first = cache.Get(Params(3), true).value();
  EXPECT_EQ(cache.Get(Params(3), true).value(), first);
  EXPECT_NE(cache.Get(Params(3, 1), true).value(), first);
  EXPECT_EQ(ledger.counts().graphs_built, 2u);
  EXPECT_EQ(ledger.counts().graphs_reused, 1u);
  EXPECT_TRUE(ledger.counts().graph_identities.contains(first->graph().identity));
}

TEST(GraphCache, WithoutReuseBuildsAnewAndKeepsNothing) {
  CountingBackend backend;
  Ledger ledger;
  GraphCache cache(&backend, &ledger);
  const auto kept = cache.Get(Params(3), true).value();
  for (int i = 0; i < 2; ++i) EXPECT_NE(cache.Get(Params(3), false).value(), kept);
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(backend.alive, 1);
  EXPECT_EQ(ledger.counts().graphs_built, 3u);
  EXPECT_EQ(ledger.counts().graphs_reused, 0u);
  EXPECT_EQ(ledger.counts().graph_identities.size(), 1u);
}

TEST(GraphCache, DropsTheOneThatWasUsedLongestAgo) {
  CountingBackend backend;
  Ledger ledger;
  GraphCache cache(&backend, &ledger);
  const int64_t most = GraphCache::kMostGraphs;
  for (int64_t rows = 1; rows <= most; ++rows) ASSERT_TRUE(cache.Get(Params(rows), true).ok());
  ASSERT_TRUE(cache.Get(Params(1), true).ok());         // used again: now 2 is the oldest
  ASSERT_TRUE(cache.Get(Params(most + 1), true).ok());  // drops 2
  EXPECT_EQ(backend.alive, most);
  ledger.Take();
  ASSERT_TRUE(cache.Get(Params(1), true).ok());
  EXPECT_EQ(ledger.counts().graphs_reused, 1u);
  ASSERT_TRUE(cache.Get(Params(2), true).ok());
  EXPECT_EQ(ledger.counts().graphs_built, 1u);
  cache.Clear();
  EXPECT_EQ(backend.alive, 0);
}

TEST(GraphCache, KeepsNothingThatFailed) {
  CountingBackend backend;
  Ledger ledger;
  GraphCache cache(&backend, &ledger);
  backend.full = true;
  EXPECT_EQ(cache.Get(Params(3), true).status().message(), "no room");
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_EQ(ledger.counts().graphs_built, 0u);
  backend.full = false;
  EXPECT_TRUE(cache.Get(Params(3), true).ok());
}

}  // namespace
}  // namespace fg
