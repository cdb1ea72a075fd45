#include "engine/graph/fuse_window.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/graph/buffer_plan.h"
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

int Count(const Graph& graph, GraphOp op) {
  const std::vector<bool> window = FuseWindow(graph);
  int count = 0;
  for (size_t i = 0; i < window.size(); ++i) count += window[i] && graph.nodes[i].op == op ? 1 : 0;
  return count;
}

TEST(FuseWindow, HoldsEveryProducerBeforeTheTail) {
  for (const int64_t wanted : {0, 1, 20}) {
    for (const int64_t rows : {20, 40}) {
      const Graph graph = BuildGraph({SmallShape(), rows, wanted});
      EXPECT_EQ(Count(graph, GraphOp::kRmsNorm), 2 * 3 - 1);
      EXPECT_EQ(Count(graph, GraphOp::kSwiglu), 3 - 1);
      EXPECT_EQ(std::ranges::count(FuseWindow(graph), true), 3 * 3 - 2);
    }
  }
}

TEST(FuseWindow, FewRowsHaveNone) {
  const Graph graph = BuildGraph({SmallShape(), 15, 15});
  EXPECT_EQ(std::ranges::count(FuseWindow(graph), true), 0);
}

// The index of the first producer in the window.
int First(const Graph& graph) {
  const std::vector<bool> window = FuseWindow(graph);
  return static_cast<int>(std::ranges::find(window, true) - window.begin());
}

TEST(FuseWindow, AnotherReaderShutsIt) {
  Graph graph = BuildGraph({SmallShape(), 20, 1});
  const int norm = First(graph);
  ASSERT_EQ(graph.nodes[norm].op, GraphOp::kRmsNorm);
  for (Node& node : graph.nodes) {
    if (node.op != GraphOp::kAdd) continue;
    node.inputs[1] = norm;  // a residual that adds the norm's output
    break;
  }
  EXPECT_FALSE(FuseWindow(graph)[norm]);
}

TEST(FuseWindow, ANodeBetweenTheMatmulsShutsIt) {
  Graph graph = BuildGraph({SmallShape(), 20, 1});
  const int norm = First(graph);
  std::swap(graph.nodes[norm + 2], graph.nodes[norm + 4]);  // a rope before k's matmul
  ASSERT_EQ(graph.nodes[norm + 2].op, GraphOp::kRope);
  EXPECT_FALSE(FuseWindow(graph)[norm]);
}

TEST(FuseWindow, AMatmulOfAnotherInputShutsIt) {
  Graph graph = BuildGraph({SmallShape(), 20, 1});
  const int norm = First(graph);
  graph.nodes[norm + 1].inputs = {norm - 1};
  EXPECT_FALSE(FuseWindow(graph)[norm]);
}

TEST(FuseWindow, AProducerThatNobodyReadsIsNotInIt) {
  Graph graph = BuildGraph({SmallShape(), 20, 0});
  graph.nodes.push_back(graph.nodes[First(graph)]);
  EXPECT_FALSE(FuseWindow(graph).back());
}

// The other promise that the window needs: nobody takes a producer's memory over while it lives,
// and a producer runs in nobody's.
TEST(FuseWindow, NoBufferOfTheWindowIsSharedInPlace) {
  const Graph graph = BuildGraph({SmallShape(), 40, 40});
  const BufferPlan plan = PlanBuffers(graph);
  const std::vector<bool> window = FuseWindow(graph);
  for (size_t i = 0; i < window.size(); ++i) {
    const int taken = plan.buffers[i].in_place_of;
    if (window[i]) {
      EXPECT_EQ(taken, -1);
    }
    if (taken >= 0) {
      EXPECT_FALSE(window[static_cast<size_t>(taken)]);
    }
  }
}

}  // namespace
}  // namespace fg
