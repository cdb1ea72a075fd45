// A graph that the CPU prepared: its memory laid out, its tensors found.
#pragma once

#include <utility>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/cpu/cpu_ops.h"
#include "engine/graph/buffer_plan.h"
#include "engine/graph/fuse_window.h"
#include "engine/memory_book.h"

namespace fg {

class CpuGraph : public ExecutableGraph {
 public:
  CpuGraph(Graph graph, MemoryBook* memory)
      : graph_(std::move(graph)),
        plan_(PlanBuffers(graph_)),
        window_(FuseWindow(graph_)),
        memory_(memory) {}
  ~CpuGraph() override { memory_->Remove(MemoryCategory::kGraph, booked_); }

  const Graph& graph() const override { return graph_; }
  const BufferPlan& plan() const { return plan_; }
  bool in_window(int node) const { return window_[node]; }  // FuseWindow

  struct NodeWeights {
    const CpuWeight* weight = nullptr;
    const float* bias = nullptr;
  };
  std::vector<NodeWeights>& weights() { return weights_; }
  const NodeWeights& weights(int node) const { return weights_[node]; }

  void Book() {
    booked_ = graph_.bytes() + plan_.buffers.capacity() * sizeof(BufferPlan::Buffer) +
              weights_.capacity() * sizeof(NodeWeights) + window_.capacity() / 8;
    memory_->Add(MemoryCategory::kGraph, booked_);
  }

 private:
  Graph graph_;
  BufferPlan plan_;
  std::vector<bool> window_;
  std::vector<NodeWeights> weights_;  // one a node
  MemoryBook* memory_;
  uint64_t booked_ = 0;
};

}  // namespace fg
