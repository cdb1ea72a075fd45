#include "engine/backend/cpu/shared_sources.h"

#include <gtest/gtest.h>

#include <map>

namespace fg {
namespace {

ModelShape Shape() {
  return {.layers = 3,
          .width = 64,
          .ffn = 96,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 16,
          .vocabulary = 77,
          .tied_output = false};
}

TEST(SharedSources, EqualShapesShareASlotAndNeverAtOnce) {
  const Graph graph = BuildGraph({Shape(), 20, 1});
  const BufferPlan plan = PlanBuffers(graph);
  const SharedSources shared = FindSharedSources(graph, plan);
  ASSERT_EQ(shared.slot.size(), graph.nodes.size());
  ASSERT_EQ(shared.bytes.size(), 2u);  // the width's rows and the ffn's
  std::map<int, int> last_use, users;
  for (size_t node = 0; node < graph.nodes.size(); ++node) {
    const int slot = shared.slot[node];
    if (slot < 0) continue;
    const GraphOp op = graph.nodes[node].op;
    EXPECT_TRUE(op == GraphOp::kRmsNorm || op == GraphOp::kAttention || op == GraphOp::kSwiglu);
    EXPECT_EQ(shared.bytes[slot], plan.buffers[node].bytes);
    if (users[slot]++ > 0) {
      EXPECT_GT(static_cast<int>(node), last_use[slot]);
    }
    last_use[slot] = plan.buffers[node].last_use;
  }
  EXPECT_EQ(users[0], 3 + 3 + 2);  // attention's norms and outputs, the ffn's norms before the tail
  EXPECT_EQ(users[1], 2);          // products
}

TEST(SharedSources, FewRowsShareNothing) {
  const Graph graph = BuildGraph({Shape(), 15, 1});
  const SharedSources shared = FindSharedSources(graph, PlanBuffers(graph));
  EXPECT_TRUE(shared.bytes.empty());
  for (const int slot : shared.slot) EXPECT_EQ(slot, -1);
}

}  // namespace
}  // namespace fg
