// How a plan is made, node by node. cuda_plan.h is what others see.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/backend/cuda/cuda_plan.h"

namespace fg {

// The forms in which a node's output is there so far.
struct PlannedValue {
  Operand f32;
  Operand scale;  // f32 is still to be multiplied by it
  int bias = -1;  // and the bias of this node to be added then
  Operand f16, f16_scale, chunks;
};

// The forms that a node's readers want.
struct WantedForms {
  bool f32 = false, f16 = false, chunks = false;
};

class Planner {
 public:
  Planner(const Graph& graph, const PlanOptions& options)
      : graph_(graph),
        options_(options),
        values_(graph.nodes.size()),
        covered_(graph.nodes.size(), false),
        readers_(graph.nodes.size()) {
    for (size_t at = 0; at < graph.nodes.size(); ++at) {
      for (const int input : graph.nodes[at].inputs)
        readers_[input].push_back(static_cast<int>(at));
    }
  }

  CudaPlan Make();

 private:
  // --- What the graph says -----------------------------------------------------------------

  const Node& At(int node) const { return graph_.nodes[static_cast<size_t>(node)]; }
  bool Exists(int node) const { return node < static_cast<int>(graph_.nodes.size()); }
  bool ReadBy(int node, int reader) const { return readers_[node] == std::vector<int>{reader}; }
  PlannedWeight WeightOf(int matmul) const { return options_.weight_of(At(matmul)); }

  bool OnRows(int node) const {
    return At(node).op == GraphOp::kMatmul && WeightOf(node).path == CudaMatmulPath::kRows;
  }
  static bool TakesChunks(const PlannedWeight& weight) {
    return weight.path == CudaMatmulPath::kRows && InfoOf(weight.type).quantized;
  }

  WantedForms WantsOf(int node) const;

  // --- Buffers and steps --------------------------------------------------------------------

  Operand NewBuffer(int64_t bytes, bool logits = false) {
    plan_.buffers.push_back({.bytes = bytes, .logits = logits});
    return {static_cast<int>(plan_.buffers.size()) - 1, 0};
  }
  Operand NewF32(int64_t rows, int64_t columns) {
    return NewBuffer(rows * columns * static_cast<int64_t>(sizeof(float)));
  }
  Operand NewF32(int node) { return NewF32(At(node).rows, At(node).columns); }

  // A step that covers `nodes`, the last of which owns it.
  CudaStep StepOf(StepKind kind, std::vector<int> nodes);
  void Label(CudaStep* step, const char* op, const std::string& label) {
    step->labels.push_back({op, label});
    if (step->kernel.empty()) step->kernel = label;
  }
  void Label(CudaStep* step, GraphOp op, const std::string& label) {
    Label(step, GraphOpName(op), label);
  }
  void Emit(CudaStep step) { plan_.steps.push_back(std::move(step)); }

  // The forms of `node` that a producer writes by itself. An unfused one writes f32 rows alone.
  void WriteForms(int node, bool f16, CudaStep* step);
  static std::string Form(const CudaStep& step) {
    return step.f16 ? ".f16" : step.chunks ? ".rows" : "";
  }

  // --- Forms of inputs ----------------------------------------------------------------------

  // A step before `owner` that prepares its input.
  CudaStep Before(StepKind kind, int owner, int64_t rows, int64_t columns) {
    return {.kind = kind, .owner = owner, .rows = rows, .columns = columns};
  }

  // The f32 rows of `node`, scaled and biased.
  Operand F32Of(int node, int owner);

  void MakePlane(int node, int owner, bool f16);

  // Gives `step` what the matmul `node` multiplies.
  void TakeInput(int node, const PlannedWeight& weight, CudaStep* step);

  // --- Matmuls ------------------------------------------------------------------------------

  static std::string NameOf(const PlannedWeight& weight, int64_t out);

  Operand OutputOf(int matmul);
  void FinishLogits(int matmul);

  void PlanGemm(int node, const PlannedWeight& weight);

  // Whether `node` is a matmul on the one-row kernels that can share a launch with `first`.
  bool JoinsRows(int first, int node) const;

  // The swiglu of gate `node` and the matmul behind it, where one launch can do all three; else -1.
  int GateUpOf(int node) const;

  void PlanGateUp(int gate, int product);

  // The add that follows matmul `node` and alone reads it; -1 where there is none.
  int ResidualOf(int node) const;

  void PlanMatvecWithResidual(int node, int add);
  void PlanMatvecs(int first);
  void PlanMatmul(int node);

  // --- The rest -----------------------------------------------------------------------------

  // The norm of `node`, after the sum `add` where it is not -1.
  void PlanNorm(int node, int add);
  void PlanAdd(int node);
  void PlanSwiglu(int node);

  // Whether `q` is the first of rope q, rope k, kv_store, all of matmuls that nobody else reads.
  bool IsRopeKv(int q) const;

  void PlanRopeKv(int q);
  void PlanRope(int node);
  void PlanKvStore(int node);
  void PlanAttention(int node);
  void PlanEmbed(int node);
  void PlanGather(int node);
  void Plan(int node);

  const Graph& graph_;
  const PlanOptions& options_;
  std::vector<PlannedValue> values_;
  std::vector<bool> covered_;
  std::vector<std::vector<int>> readers_;
  Operand logits_;
  CudaPlan plan_;
};

}  // namespace fg
