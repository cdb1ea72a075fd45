#include "engine/backend/cuda/cuda_plan.h"

#include <utility>

#include "engine/backend/cuda/cuda_plan_builder.h"
#include "engine/phase.h"
#include "kernels/formats/blocks.h"

namespace fg {
namespace {

constexpr int64_t kF32Bytes = 4, kF16Bytes = 2;
constexpr int64_t kChunkBytes = sizeof(ActivationChunk);

}  // namespace

CudaPlan Planner::Make() {
  const int count = static_cast<int>(graph_.nodes.size());
  for (int node = 0; node < count; ++node) {
    if (!covered_[node]) Plan(node);
  }
  for (const PlannedValue& value : values_) plan_.node_f32.push_back(value.f32);
  plan_.pool_bytes = PlaceBuffers(plan_.steps, &plan_.buffers);
  return std::move(plan_);
}

WantedForms Planner::WantsOf(int node) const {
  WantedForms wants;
  for (const int reader : readers_[node]) {
    if (At(reader).op != GraphOp::kMatmul) {
      wants.f32 = true;
      continue;
    }
    const PlannedWeight weight = WeightOf(reader);
    const bool f16 = weight.path == CudaMatmulPath::kGemmF16, chunks = TakesChunks(weight);
    wants.f16 = wants.f16 || f16;
    wants.chunks = wants.chunks || chunks;
    wants.f32 = wants.f32 || (!f16 && !chunks);
  }
  return wants;
}

CudaStep Planner::StepOf(StepKind kind, std::vector<int> nodes) {
  const Node& node = At(nodes.back());
  CudaStep step = {.kind = kind,
                   .owner = nodes.back(),
                   .rows = node.rows,
                   .columns = node.columns,
                   .layer = node.layer,
                   .head_dim = node.head_dim};
  for (const int each : nodes) covered_[each] = true;
  step.nodes = std::move(nodes);
  return step;
}

void Planner::WriteForms(int node, bool f16, CudaStep* step) {
  const Node& here = At(node);
  WantedForms wants = WantsOf(node);
  if (!options_.fused || !f16) wants.f16 = false;
  if (!options_.fused) wants.chunks = false;
  PlannedValue& value = values_[node];
  if (wants.f32 || !(wants.f16 || wants.chunks)) step->out[0] = value.f32 = NewF32(node);
  if (wants.f16) {
    step->f16 = value.f16 = NewBuffer(here.rows * here.columns * kF16Bytes);
    step->f16_scale = value.f16_scale = NewBuffer(here.rows * kF32Bytes);
  }
  if (wants.chunks) {
    step->chunks = value.chunks = NewBuffer(here.rows * (here.columns / kBlock32) * kChunkBytes);
  }
}

Operand Planner::F32Of(int node, int owner) {
  PlannedValue& value = values_[node];
  if (value.scale || value.bias >= 0) {
    CudaStep step = Before(StepKind::kScaleBias, owner, At(node).rows, At(node).columns);
    step.kernel = "scale_bias";
    step.in_scale = value.scale;
    step.bias[0] = value.bias;
    step.out[0] = value.f32;
    Emit(std::move(step));
    value.scale = {};
    value.bias = -1;
  }
  return value.f32;
}

void Planner::MakePlane(int node, int owner, bool f16) {
  const Operand x = F32Of(node, owner);
  const Node& here = At(node);
  CudaStep step =
      Before(f16 ? StepKind::kRowsToF16 : StepKind::kQuantizeRows, owner, here.rows, here.columns);
  Label(&step, "prepass", f16 ? "prepass.f16" : "prepass.rows");
  step.in[0] = x;
  PlannedValue& value = values_[node];
  if (f16) {
    step.f16 = value.f16 = NewBuffer(here.rows * here.columns * kF16Bytes);
    step.f16_scale = value.f16_scale = NewBuffer(here.rows * kF32Bytes);
  } else {
    step.chunks = value.chunks = NewBuffer(here.rows * (here.columns / kBlock32) * kChunkBytes);
  }
  Emit(std::move(step));
}

void Planner::TakeInput(int node, const PlannedWeight& weight, CudaStep* step) {
  const int x = At(node).inputs[0];
  if (weight.path == CudaMatmulPath::kGemmF16) {
    if (!values_[x].f16) MakePlane(x, node, true);
    step->plane = values_[x].f16;
  } else if (TakesChunks(weight)) {
    if (!values_[x].chunks) MakePlane(x, node, false);
    step->plane = values_[x].chunks;
  } else {
    step->f32 = true;
    step->in[0] = F32Of(x, node);
  }
  step->k = weight.k;
}

void Planner::PlanNorm(int node, int add) {
  CudaStep step =
      StepOf(StepKind::kNorm, add < 0 ? std::vector<int>{node} : std::vector<int>{add, node});
  if (add >= 0) {
    const int a = At(add).inputs[0], b = At(add).inputs[1];
    // The part that is still to be scaled, and has no bias, is scaled on the way.
    const auto is_open = [&](int part) {
      return values_[part].scale && values_[part].bias < 0 && ReadBy(part, add);
    };
    const int open = is_open(a) ? a : is_open(b) ? b : -1;
    const int other = open == a ? b : a, second = open < 0 ? b : open;
    step.in[0] = F32Of(other, node);
    if (open >= 0) step.in_scale = values_[open].scale;
    step.in[1] = open >= 0 ? values_[open].f32 : F32Of(second, node);
    step.out[1] = values_[add].f32 = NewF32(add);
    Label(&step, GraphOp::kAdd, "add.norm");
  } else {
    step.in[0] = F32Of(At(node).inputs[0], node);
  }
  step.weight[0] = node;
  WriteForms(node, true, &step);
  step.kernel = (add >= 0 ? "add_" : "") + ("rms_norm" + Form(step));
  Label(&step, GraphOp::kRmsNorm, "rms_norm" + Form(step));
  Emit(std::move(step));
}

void Planner::PlanAdd(int node) {
  const int norm = node + 1;
  if (options_.fused && Exists(norm) && At(norm).op == GraphOp::kRmsNorm &&
      At(norm).inputs[0] == node && At(node).inputs[0] != At(node).inputs[1]) {
    return PlanNorm(norm, node);
  }
  CudaStep step = StepOf(StepKind::kAdd, {node});
  Label(&step, GraphOp::kAdd, "add");
  for (int i = 0; i < 2; ++i) step.in[i] = F32Of(At(node).inputs[i], node);
  step.out[0] = values_[node].f32 = NewF32(node);
  Emit(std::move(step));
}

void Planner::PlanSwiglu(int node) {
  const int gate = At(node).inputs[0], up = At(node).inputs[1];
  CudaStep step = StepOf(StepKind::kSwiglu, {node});
  const PlannedValue &g = values_[gate], &u = values_[up];
  const bool together = g.scale && g.scale == u.scale && g.bias < 0 && u.bias < 0 &&
                        ReadBy(gate, node) && ReadBy(up, node);
  if (together) step.in_scale = g.scale;
  step.in[0] = together ? g.f32 : F32Of(gate, node);
  step.in[1] = together ? u.f32 : F32Of(up, node);
  WriteForms(node, true, &step);
  Label(&step, GraphOp::kSwiglu, "swiglu" + Form(step));
  Emit(std::move(step));
}

bool Planner::IsRopeKv(int q) const {
  const int k = q + 1, store = q + 2;
  if (!options_.fused || !Exists(store) || At(k).op != GraphOp::kRope ||
      At(store).op != GraphOp::kKvStore || At(store).inputs[0] != k || !ReadBy(k, store)) {
    return false;
  }
  const int v = At(store).inputs[1];
  return ReadBy(At(q).inputs[0], q) && ReadBy(At(k).inputs[0], k) && ReadBy(v, store) &&
         At(k).columns == At(v).columns && At(q).head_dim == At(k).head_dim;
}

void Planner::PlanRopeKv(int q) {
  const int k = q + 1, store = q + 2;
  const std::array<int, 3> from = {At(q).inputs[0], At(k).inputs[0], At(store).inputs[1]};
  CudaStep step = StepOf(StepKind::kRopeKv, {q, k, store});
  step.columns = At(q).columns;
  step.head_dim = At(q).head_dim;
  Label(&step, GraphOp::kRope, "rope.kv");
  Label(&step, GraphOp::kRope, "rope.kv");
  Label(&step, GraphOp::kKvStore, "kv_store.rope");
  const bool together = values_[from[0]].scale == values_[from[1]].scale &&
                        values_[from[0]].scale == values_[from[2]].scale;
  if (together) step.in_scale = values_[from[0]].scale;
  for (size_t i = 0; i < from.size(); ++i) {
    if (together) step.bias[i] = values_[from[i]].bias;
    step.in[i] = together ? values_[from[i]].f32 : F32Of(from[i], store);
  }
  step.out[0] = values_[q].f32 = step.in[0];  // in place: nobody else reads the matmul
  Emit(std::move(step));
}

void Planner::PlanRope(int node) {
  CudaStep step = StepOf(StepKind::kRope, {node});
  Label(&step, GraphOp::kRope, "rope");
  step.in[0] = F32Of(At(node).inputs[0], node);
  step.out[0] = values_[node].f32 = NewF32(node);
  Emit(std::move(step));
}

void Planner::PlanKvStore(int node) {
  CudaStep step = StepOf(StepKind::kKvStore, {node});
  Label(&step, GraphOp::kKvStore, "kv_store");
  for (int i = 0; i < 2; ++i) step.in[i] = F32Of(At(node).inputs[i], node);
  step.columns = At(At(node).inputs[0]).columns;
  Emit(std::move(step));
}

void Planner::PlanAttention(int node) {
  CudaStep step = StepOf(StepKind::kAttention, {node});
  step.many = At(node).rows >= kPrefillRows && options_.attention_many;
  plan_.buckets = plan_.buckets || !step.many;
  Label(&step, GraphOp::kAttention, step.many ? "attention.many" : "attention.few");
  step.in[0] = F32Of(At(node).inputs[0], node);
  if (step.many || At(node).head_dim % kBlock32 != 0) {
    step.out[0] = values_[node].f32 = NewF32(node);
  } else {
    WriteForms(node, false, &step);
  }
  // What a plane needs and the kernel did not write is made from the rows.
  const WantedForms wants = WantsOf(node);
  if (!step.out[0] && wants.f16) step.out[0] = values_[node].f32 = NewF32(node);
  Emit(std::move(step));
}

void Planner::PlanEmbed(int node) {
  CudaStep step = StepOf(StepKind::kEmbed, {node});
  Label(&step, GraphOp::kEmbed, std::string("embed.") + InfoOf(WeightOf(node).type).name);
  step.weight[0] = node;
  step.out[0] = values_[node].f32 = NewF32(node);
  Emit(std::move(step));
}

void Planner::PlanGather(int node) {
  const int from = At(node).inputs[0];
  const Operand x = F32Of(from, node);
  CudaStep step = StepOf(StepKind::kView, {node});
  Label(&step, GraphOp::kGather, "gather.view");
  // Not read by the step, and yet alive here: its readers hold the buffer.
  values_[node].f32 = {x.buffer, x.offset + At(node).first_row * At(node).columns * kF32Bytes};
  Emit(std::move(step));
}

void Planner::Plan(int node) {
  switch (At(node).op) {
    case GraphOp::kEmbed:
      return PlanEmbed(node);
    case GraphOp::kRmsNorm:
      return PlanNorm(node, -1);
    case GraphOp::kMatmul:
      return PlanMatmul(node);
    case GraphOp::kRope:
      return IsRopeKv(node) ? PlanRopeKv(node) : PlanRope(node);
    case GraphOp::kKvStore:
      return PlanKvStore(node);
    case GraphOp::kAttention:
      return PlanAttention(node);
    case GraphOp::kAdd:
      return PlanAdd(node);
    case GraphOp::kSwiglu:
      return PlanSwiglu(node);
    case GraphOp::kGather:
      return PlanGather(node);
  }
}

uint64_t CudaPlan::bytes() const {
  uint64_t bytes = sizeof(CudaPlan) + steps.capacity() * sizeof(CudaStep) +
                   buffers.capacity() * sizeof(StepBuffer) + node_f32.capacity() * sizeof(Operand);
  for (const CudaStep& step : steps) {
    bytes += step.nodes.capacity() * sizeof(int) + step.labels.capacity() * sizeof(StepLabel) +
             step.kernel.capacity();
  }
  return bytes;
}

CudaPlan MakePlan(const Graph& graph, const PlanOptions& options) {
  return Planner(graph, options).Make();
}

}  // namespace fg
