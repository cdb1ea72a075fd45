#include "engine/graph/buffer_plan.h"

#include <gtest/gtest.h>

namespace fg {
namespace {

ModelShape SmallShape(int64_t layers) {
  return {.layers = layers,
          .width = 64,
          .ffn = 200,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 16,
          .vocabulary = 77,
          .tied_output = false};
}

// Written apart from the planner: for every pair of nodes, from first principles, whether both hold
// values that somebody still reads while they share a byte.
std::string FirstOverlap(const Graph& graph, const BufferPlan& plan) {
  const int count = static_cast<int>(graph.nodes.size());
  const auto last_reader = [&](int node) {
    int last = node;
    for (int reader = node + 1; reader < count; ++reader) {
      for (const int input : graph.nodes[reader].inputs) last = input == node ? reader : last;
    }
    return last;
  };
  for (int a = 0; a < count; ++a) {
    if (!graph.nodes[a].pooled()) continue;
    const int64_t a_begin = plan.buffers[a].offset;
    const int64_t a_end = a_begin + graph.nodes[a].rows * graph.nodes[a].columns * 4;
    if (a_begin < 0 || a_end > plan.peak) return "node " + std::to_string(a) + " lies outside";
    for (int b = a + 1; b < count; ++b) {
      if (!graph.nodes[b].pooled()) continue;
      const int64_t b_begin = plan.buffers[b].offset;
      const int64_t b_end = b_begin + graph.nodes[b].rows * graph.nodes[b].columns * 4;
      const bool shares = a_begin < b_end && b_begin < a_end;
      const int last = last_reader(a);
      const GraphOp op = graph.nodes[b].op;
      // b may overwrite a while it reads it for the last time, exactly in place, if it is of a kind
      // that works value by value.
      const bool in_place = last == b && a_begin == b_begin && a_end == b_end &&
                            (op == GraphOp::kRope || op == GraphOp::kAdd);
      if (shares && b <= last && !in_place) {
        return "nodes " + std::to_string(a) + " and " + std::to_string(b);
      }
    }
  }
  return "";
}

TEST(BufferPlan, NoTwoLiveBuffersOverlap) {
  for (const int64_t layers : {1, 2, 5}) {
    for (const int64_t rows : {1, 2, 15, 16, 17, 64}) {
      for (const int64_t wanted : {int64_t{0}, int64_t{1}, rows}) {
        const Graph graph = BuildGraph({SmallShape(layers), rows, wanted});
        EXPECT_EQ(FirstOverlap(graph, PlanBuffers(graph)), "")
            << layers << " layers, " << rows << " rows, " << wanted << " wanted";
      }
    }
  }
}

TEST(BufferPlan, TheCheckerSeesAnOverlap) {
  const Graph graph = BuildGraph({SmallShape(2), 16, 1});
  const BufferPlan good = PlanBuffers(graph);
  int seen = 0, moved = 0;
  for (size_t node = 0; node < graph.nodes.size(); ++node) {
    if (!graph.nodes[node].pooled() || good.buffers[node].offset == 0) continue;
    BufferPlan bad = good;
    bad.buffers[node].offset = 0;  // where the embedding, then the residual lives
    ++moved;
    seen += FirstOverlap(graph, bad).empty() ? 0 : 1;
  }
  EXPECT_GT(moved, 10);
  EXPECT_GT(seen, moved / 2);
  BufferPlan outside = good;
  outside.peak -= 1;
  EXPECT_NE(FirstOverlap(graph, outside), "");
}

TEST(BufferPlan, ReusesMemory) {
  const Graph graph = BuildGraph({SmallShape(5), 64, 1});
  const BufferPlan plan = PlanBuffers(graph);
  int64_t sum = 0;
  for (const BufferPlan::Buffer& buffer : plan.buffers) sum += buffer.bytes;
  EXPECT_LT(plan.peak, sum / 5);
  // Residual, gate, up and their product are alive together; nothing can do with less.
  EXPECT_GE(plan.peak, 64 * (64 + 3 * 200) * 4);
  // More layers need no more.
  EXPECT_EQ(plan.peak, PlanBuffers(BuildGraph({SmallShape(9), 64, 1})).peak);
}

TEST(BufferPlan, NormAndSwigluNeverRunInPlace) {
  const Graph graph = BuildGraph({SmallShape(3), 20, 20});
  const BufferPlan plan = PlanBuffers(graph);
  int in_place = 0;
  for (size_t node = 0; node < graph.nodes.size(); ++node) {
    const GraphOp op = graph.nodes[node].op;
    in_place += plan.buffers[node].in_place_of >= 0 ? 1 : 0;
    if (op != GraphOp::kRmsNorm && op != GraphOp::kSwiglu) continue;
    EXPECT_EQ(plan.buffers[node].in_place_of, -1);
    for (const int input : graph.nodes[node].inputs) {
      EXPECT_NE(plan.buffers[node].offset, plan.buffers[input].offset);
    }
  }
  EXPECT_GT(in_place, 0);
}

TEST(BufferPlan, LogitsTakeNoRoomInThePool) {
  const Graph graph = BuildGraph({SmallShape(2), 20, 20});
  const BufferPlan plan = PlanBuffers(graph);
  for (size_t node = 0; node < graph.nodes.size(); ++node) {
    if (graph.nodes[node].pooled()) {
      EXPECT_EQ(plan.buffers[node].offset % BufferPlan::kAlignment, 0);
    } else {
      EXPECT_EQ(plan.buffers[node].offset, -1);
    }
  }
}

}  // namespace
}  // namespace fg
