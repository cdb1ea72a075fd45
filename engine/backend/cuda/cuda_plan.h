// From a graph to the steps that run it on the device: which nodes run together, in which forms
// activations travel between them, and where the buffers lie. A function of the nodes and of the
// weights' types alone; no CUDA header, no environment. docs/cuda.md "The plan".
#pragma once

#include <functional>

#include "engine/backend/cuda/cuda_matmul_path.h"
#include "engine/backend/cuda/cuda_step.h"
#include "engine/graph/graph.h"

namespace fg {

// How a node's weight is multiplied at the node's number of rows.
struct PlannedWeight {
  TensorType type = TensorType::kF32;
  CudaMatmulPath path = CudaMatmulPath::kRows;
  int64_t k = 0;
};

struct PlanOptions {
  // Of a kMatmul or kEmbed node (of the latter the type alone counts).
  std::function<PlannedWeight(const Node&)> weight_of;
  bool fused = true;           // false: each node by itself, its output there as f32 afterwards
  bool attention_many = true;  // AttentionManyServes(head_dim)
};

struct CudaPlan {
  std::vector<CudaStep> steps;
  std::vector<StepBuffer> buffers;
  int64_t pool_bytes = 0;
  int64_t logits_rows = 0;        // rows of the array of logits: of the largest slice
  bool buckets = false;           // some attention is cut by the bucket of its length
  std::vector<Operand> node_f32;  // of each node, where its f32 output lies; none where it does not

  uint64_t bytes() const;  // of the host's memory, roughly
};

CudaPlan MakePlan(const Graph& graph, const PlanOptions& options);

}  // namespace fg
