#include "engine/graph/buffer_plan.h"

#include <algorithm>

namespace fg {
namespace {

int64_t Padded(int64_t bytes) {
  return (bytes + BufferPlan::kAlignment - 1) / BufferPlan::kAlignment * BufferPlan::kAlignment;
}

// The holes of a pool that grows at its end.
class FreeList {
 public:
  int64_t Take(int64_t bytes) {
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
      if (hole->size < bytes) continue;
      const int64_t offset = hole->offset;
      hole->offset += bytes;
      hole->size -= bytes;
      if (hole->size == 0) holes_.erase(hole);
      return offset;
    }
    return TakeAtEnd(bytes);
  }

  void Give(int64_t offset, int64_t bytes) {
    const auto after = std::find_if(holes_.begin(), holes_.end(),
                                    [&](const Hole& hole) { return hole.offset > offset; });
    auto hole = holes_.insert(after, {offset, bytes});
    if (const auto next = hole + 1;
        next != holes_.end() && hole->offset + hole->size == next->offset) {
      hole->size += next->size;
      holes_.erase(next);
    }
    if (hole == holes_.begin()) return;
    if (const auto previous = hole - 1; previous->offset + previous->size == hole->offset) {
      previous->size += hole->size;
      holes_.erase(hole);
    }
  }

  int64_t end() const { return end_; }

 private:
  struct Hole {
    int64_t offset, size;
  };

  // A hole at the end grows instead of being left behind.
  int64_t TakeAtEnd(int64_t bytes) {
    int64_t offset = end_;
    if (!holes_.empty() && holes_.back().offset + holes_.back().size == end_) {
      offset = holes_.back().offset;
      holes_.pop_back();
    }
    end_ = offset + bytes;
    return offset;
  }

  std::vector<Hole> holes_;  // by offset, none touching the next
  int64_t end_ = 0;
};

bool MayRunInPlace(GraphOp op) { return op == GraphOp::kRope || op == GraphOp::kAdd; }

// An input of `node` with a buffer of the same size that dies here; -1 where there is none.
int DyingInput(const Graph& graph, const BufferPlan& plan, int node) {
  if (!MayRunInPlace(graph.nodes[node].op)) return -1;
  for (const int input : graph.nodes[node].inputs) {
    const BufferPlan::Buffer& buffer = plan.buffers[input];
    if (buffer.offset >= 0 && buffer.last_use == node && buffer.bytes == plan.buffers[node].bytes) {
      return input;
    }
  }
  return -1;
}

}  // namespace

BufferPlan PlanBuffers(const Graph& graph) {
  const int count = static_cast<int>(graph.nodes.size());
  BufferPlan plan;
  plan.buffers.resize(count);
  for (int node = 0; node < count; ++node) {
    const Node& here = graph.nodes[node];
    if (here.pooled()) {
      plan.buffers[node].bytes = here.rows * here.columns * static_cast<int64_t>(sizeof(float));
    }
    plan.buffers[node].last_use = node;
    for (const int input : here.inputs) plan.buffers[input].last_use = node;
  }
  FreeList pool;
  for (int node = 0; node < count; ++node) {
    BufferPlan::Buffer& own = plan.buffers[node];
    if (own.bytes > 0) {
      own.in_place_of = DyingInput(graph, plan, node);
      own.offset = own.in_place_of >= 0 ? plan.buffers[own.in_place_of].offset
                                        : pool.Take(Padded(own.bytes));
    }
    // Only now: an output must not take the memory of an input that it still reads.
    std::vector<int> dying = graph.nodes[node].inputs;
    dying.push_back(node);
    std::sort(dying.begin(), dying.end());
    dying.erase(std::unique(dying.begin(), dying.end()), dying.end());
    for (const int candidate : dying) {
      const BufferPlan::Buffer& buffer = plan.buffers[candidate];
      if (buffer.offset < 0 || buffer.last_use != node || candidate == own.in_place_of) continue;
      pool.Give(buffer.offset, Padded(buffer.bytes));
    }
  }
  plan.peak = pool.end();
  return plan;
}

}  // namespace fg
