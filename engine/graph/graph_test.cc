#include "engine/graph/graph.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/phase.h"

namespace fg {
namespace {

ModelShape SmallShape() {
  return {.layers = 3,
          .width = 64,
          .ffn = 96,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 16,
          .vocabulary = 77,
          .tied_output = false};
}

std::map<GraphOp, int> CountOps(const Graph& graph) {
  std::map<GraphOp, int> count;
  for (const Node& node : graph.nodes) ++count[node.op];
  return count;
}

TEST(Graph, HoldsEachLayersNodesOnce) {
  const Graph graph = BuildGraph({SmallShape(), 20, 1});
  const std::map<GraphOp, int> expected = {
      {GraphOp::kEmbed, 1}, {GraphOp::kRmsNorm, 7}, {GraphOp::kMatmul, 22},
      {GraphOp::kRope, 6},  {GraphOp::kKvStore, 3}, {GraphOp::kAttention, 3},
      {GraphOp::kAdd, 6},   {GraphOp::kSwiglu, 3},  {GraphOp::kGather, 1},
  };
  EXPECT_EQ(CountOps(graph), expected);
}

TEST(Graph, EighteenMatmulsOfThreeLayersRunOverAllRows) {
  for (const int64_t wanted : {0, 1, 40}) {
    int wide = 0;
    std::set<std::string> names;
    for (const Node& node : BuildGraph({SmallShape(), 40, wanted}).nodes) {
      if (node.op != GraphOp::kMatmul || node.rows < kPrefillRows) continue;
      ++wide;
      names.insert(node.weight);
    }
    EXPECT_EQ(wide, 7 * 3 - 3) << wanted;
    EXPECT_EQ(names.size(), 18u);
    EXPECT_FALSE(names.contains("blk.2.ffn_up.weight"));
    EXPECT_TRUE(names.contains("blk.2.attn_output.weight"));
  }
}

TEST(Graph, NeighboursStayNeighbours) {
  const Graph graph = BuildGraph({SmallShape(), 20, 20});
  int triples = 0, pairs = 0;
  for (size_t i = 0; i + 2 < graph.nodes.size(); ++i) {
    const auto is = [&](size_t at, const char* part) {
      return graph.nodes[at].weight.ends_with(part) &&
             graph.nodes[at].inputs == graph.nodes[i].inputs;
    };
    if (is(i, "attn_q.weight")) {
      EXPECT_TRUE(is(i + 1, "attn_k.weight") && is(i + 2, "attn_v.weight"));
      EXPECT_EQ(graph.nodes[i].bias.substr(5), ".attn_q.bias");
      ++triples;
    }
    if (is(i, "ffn_gate.weight")) {
      EXPECT_TRUE(is(i + 1, "ffn_up.weight"));
      ++pairs;
    }
  }
  EXPECT_EQ(triples, 3);
  EXPECT_EQ(pairs, 4);  // two layers before the last, and two slices of it
}

TEST(Graph, TheTailRunsInSlices) {
  for (const int64_t wanted : {1, 14, 15, 16, 31, 45, 46}) {
    const Graph graph = BuildGraph({SmallShape(), 50, wanted});
    int64_t next = 0;
    for (const Node& node : graph.nodes) {
      if (node.op == GraphOp::kGather) {
        EXPECT_EQ(node.first_row, 50 - wanted + next);
        EXPECT_LE(node.rows, kTailRows);
      }
      if (node.logits_row < 0) continue;
      EXPECT_EQ(node.logits_row, next);
      EXPECT_EQ(node.columns, 77);
      EXPECT_EQ(node.weight, "output.weight");
      EXPECT_FALSE(node.pooled());
      next += node.rows;
    }
    EXPECT_EQ(next, wanted);
  }
}

TEST(Graph, WithNothingWantedTheLastNodeIsTheLastResidual) {
  const Graph graph = BuildGraph({SmallShape(), 8, 0});
  EXPECT_EQ(graph.nodes.back().op, GraphOp::kAdd);
  EXPECT_EQ(CountOps(graph)[GraphOp::kKvStore], 3);
  EXPECT_EQ(CountOps(graph)[GraphOp::kSwiglu], 2);
}

TEST(Graph, ATiedOutputReadsTheEmbedding) {
  ModelShape shape = SmallShape();
  shape.tied_output = true;
  const Graph graph = BuildGraph({shape, 1, 1});
  EXPECT_EQ(graph.nodes.back().weight, "token_embd.weight");
}

TEST(Graph, InputsComeBeforeTheirReaders) {
  const Graph graph = BuildGraph({SmallShape(), 33, 33});
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const int input : graph.nodes[i].inputs) EXPECT_LT(input, static_cast<int>(i));
    if (graph.nodes[i].op == GraphOp::kAttention) {
      const Node& store = graph.nodes[graph.nodes[i].inputs[1]];
      EXPECT_EQ(store.op, GraphOp::kKvStore);
      EXPECT_EQ(store.layer, graph.nodes[i].layer);
    }
  }
}

TEST(Graph, TheIdentityIsTheTopologys) {
  const Graph graph = BuildGraph({SmallShape(), 20, 1});
  EXPECT_EQ(graph.identity.size(), 16u);
  EXPECT_EQ(graph.identity, BuildGraph({SmallShape(), 20, 1}).identity);
  std::set<std::string> identities = {graph.identity};
  identities.insert(BuildGraph({SmallShape(), 21, 1}).identity);
  identities.insert(BuildGraph({SmallShape(), 20, 2}).identity);
  identities.insert(BuildGraph({SmallShape(), 20, 0}).identity);
  ModelShape shape = SmallShape();
  shape.tied_output = true;
  identities.insert(BuildGraph({shape, 20, 1}).identity);
  shape = SmallShape();
  shape.kv_heads = 4;
  identities.insert(BuildGraph({shape, 20, 1}).identity);
  shape = SmallShape();
  shape.heads = 2, shape.kv_heads = 1, shape.head_dim = 32;  // the same widths, other heads
  identities.insert(BuildGraph({shape, 20, 1}).identity);
  EXPECT_EQ(identities.size(), 7u);
}

// The identity is what evidence compares over commits: it moves only when the topology does.
TEST(Graph, TheIdentityIsPinned) {
  EXPECT_EQ(BuildGraph({SmallShape(), 20, 1}).identity, "d7ee3b22aa335e75");
}

}  // namespace
}  // namespace fg
