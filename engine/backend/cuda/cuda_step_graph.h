// A graph that the device prepared: its steps, its tensors found.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/cuda/cuda_plan.h"
#include "engine/backend/cuda/cuda_weights.h"
#include "engine/memory_book.h"

namespace fg {

class CudaGraph : public ExecutableGraph {
 public:
  struct NodeWeights {
    const CudaWeight* weight = nullptr;
    const float* bias = nullptr;  // on the device
  };

  CudaGraph(Graph graph, MemoryBook* memory) : graph_(std::move(graph)), memory_(memory) {}
  ~CudaGraph() override { memory_->Remove(MemoryCategory::kGraph, booked_); }

  const Graph& graph() const override { return graph_; }
  std::vector<NodeWeights>& weights() { return weights_; }
  const NodeWeights& weights(int node) const { return weights_[static_cast<size_t>(node)]; }

  const CudaPlan& plan() const { return plan_; }
  void set_plan(CudaPlan plan) { plan_ = std::move(plan); }
  // Each node by itself, for an observer; made when the first one looks.
  std::optional<CudaPlan>& unfused() const { return unfused_; }

  void Book() {
    booked_ = graph_.bytes() + plan_.bytes() + weights_.capacity() * sizeof(NodeWeights);
    memory_->Add(MemoryCategory::kGraph, booked_);
  }

 private:
  Graph graph_;
  CudaPlan plan_;
  mutable std::optional<CudaPlan> unfused_;
  std::vector<NodeWeights> weights_;  // one a node
  MemoryBook* memory_;
  uint64_t booked_ = 0;
};

}  // namespace fg
