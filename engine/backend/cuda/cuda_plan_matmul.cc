// The matmuls of a plan: GEMMs, one-row kernels, and what runs with them.
#include <algorithm>
#include <utility>

#include "engine/backend/cuda/cuda_plan_builder.h"
#include "engine/phase.h"
#include "kernels/formats/blocks.h"

namespace fg {

std::string Planner::NameOf(const PlannedWeight& weight, int64_t out) {
  return CudaMatmulLabel(weight.path, weight.type) + " " + std::to_string(out) + "x" +
         std::to_string(weight.k);
}

Operand Planner::OutputOf(int matmul) {
  const Node& node = At(matmul);
  if (node.logits_row < 0) return NewF32(matmul);
  if (!logits_) logits_ = NewBuffer(0, true);
  int64_t& bytes = plan_.buffers[static_cast<size_t>(logits_.buffer)].bytes;
  bytes = std::max(bytes, node.rows * node.columns * static_cast<int64_t>(sizeof(float)));
  plan_.logits_rows = std::max(plan_.logits_rows, node.rows);
  return logits_;
}

void Planner::FinishLogits(int matmul) {
  const Node& node = At(matmul);
  if (node.logits_row < 0) return;
  CudaStep step = Before(StepKind::kLogits, matmul, node.rows, node.columns);
  step.kernel = "argmax";
  step.in[0] = logits_;
  step.logits_row = node.logits_row;
  Emit(std::move(step));
}

void Planner::PlanGemm(int node, const PlannedWeight& weight) {
  CudaStep step = StepOf(StepKind::kGemm, {node});
  Label(&step, GraphOp::kMatmul, CudaMatmulLabel(weight.path, weight.type));
  step.kernel = NameOf(weight, At(node).columns);
  TakeInput(node, weight, &step);
  step.weight[0] = node;
  PlannedValue& value = values_[node];
  step.out[0] = value.f32 = OutputOf(node);
  if (weight.path == CudaMatmulPath::kGemmF16) {
    value.scale = values_[At(node).inputs[0]].f16_scale;
  }
  if (!At(node).bias.empty()) value.bias = node;
  Emit(std::move(step));
  // Whoever sees the node's output, or takes it as logits, sees it whole.
  if (!options_.fused || At(node).logits_row >= 0) F32Of(node, node);
  FinishLogits(node);
}

bool Planner::JoinsRows(int first, int node) const {
  if (!Exists(node) || covered_[node] || !OnRows(node)) return false;
  const PlannedWeight a = WeightOf(first), b = WeightOf(node);
  return At(node).inputs == At(first).inputs && At(node).logits_row < 0 && a.k == b.k &&
         TakesChunks(a) == TakesChunks(b);
}

int Planner::GateUpOf(int node) const {
  const int up = node + 1, product = node + 2;
  if (!Exists(product) || !JoinsRows(node, up) || At(product).op != GraphOp::kSwiglu) return -1;
  const bool plain = At(node).bias.empty() && At(up).bias.empty();
  const bool alone = ReadBy(node, product) && ReadBy(up, product);
  const bool alike = WeightOf(node).type == WeightOf(up).type && At(node).columns == At(up).columns;
  return plain && alone && alike && At(product).inputs == std::vector<int>{node, up} ? product : -1;
}

void Planner::PlanGateUp(int gate, int product) {
  const PlannedWeight weight = WeightOf(gate);
  CudaStep step = StepOf(StepKind::kGateUp, {gate, gate + 1, product});
  const std::string label = CudaMatmulLabel(weight.path, weight.type);
  Label(&step, GraphOp::kMatmul, label);
  Label(&step, GraphOp::kMatmul, label);
  Label(&step, GraphOp::kSwiglu, "swiglu.row");
  step.kernel = "gate_up." + NameOf(weight, At(gate).columns);
  TakeInput(gate, weight, &step);
  step.weight = {gate, gate + 1, -1};
  WriteForms(product, false, &step);
  Emit(std::move(step));
}

int Planner::ResidualOf(int node) const {
  const int add = node + 1;
  if (!Exists(add) || At(add).op != GraphOp::kAdd || !ReadBy(node, add)) return -1;
  const std::vector<int>& inputs = At(add).inputs;
  return inputs.size() == 2 && (inputs[0] == node) != (inputs[1] == node) ? add : -1;
}

void Planner::PlanMatvecWithResidual(int node, int add) {
  const PlannedWeight weight = WeightOf(node);
  const std::vector<int>& inputs = At(add).inputs;
  const Operand residual = F32Of(inputs[0] == node ? inputs[1] : inputs[0], node);
  CudaStep step = StepOf(StepKind::kMatvec, {node, add});
  Label(&step, GraphOp::kMatmul, CudaMatmulLabel(weight.path, weight.type));
  Label(&step, GraphOp::kAdd, "add.row");
  step.kernel = NameOf(weight, At(node).columns);
  TakeInput(node, weight, &step);
  step.weight[0] = step.bias[0] = node;
  step.residual = residual;
  step.out[0] = values_[add].f32 = NewF32(add);
  Emit(std::move(step));
}

void Planner::PlanMatvecs(int first) {
  std::vector<int> nodes = {first};
  while (options_.fused && nodes.size() < 3 && At(first).logits_row < 0 &&
         JoinsRows(first, first + static_cast<int>(nodes.size()))) {
    nodes.push_back(first + static_cast<int>(nodes.size()));
  }
  const PlannedWeight weight = WeightOf(first);
  CudaStep step = StepOf(StepKind::kMatvec, nodes);
  int64_t out = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const PlannedWeight own = WeightOf(nodes[i]);
    Label(&step, GraphOp::kMatmul, CudaMatmulLabel(own.path, own.type));
    step.weight[i] = step.bias[i] = nodes[i];
    out += At(nodes[i]).columns;
  }
  step.owner = first;
  step.columns = out;
  step.kernel = NameOf(weight, out);
  TakeInput(first, weight, &step);
  for (size_t i = 0; i < nodes.size(); ++i) {
    step.out[i] = values_[nodes[i]].f32 = OutputOf(nodes[i]);
  }
  Emit(std::move(step));
  FinishLogits(first);
}

void Planner::PlanMatmul(int node) {
  const PlannedWeight weight = WeightOf(node);
  if (weight.path != CudaMatmulPath::kRows) return PlanGemm(node, weight);
  if (options_.fused && At(node).logits_row < 0) {
    const int product = GateUpOf(node), add = ResidualOf(node);
    if (product >= 0) return PlanGateUp(node, product);
    if (add >= 0) return PlanMatvecWithResidual(node, add);
  }
  PlanMatvecs(node);
}
}  // namespace fg
