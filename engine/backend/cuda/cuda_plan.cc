#include "engine/backend/cuda/cuda_plan.h"

#include <algorithm>
#include <utility>

#include "engine/phase.h"
#include "kernels/formats/blocks.h"

namespace fg {
namespace {

constexpr int64_t kF32Bytes = 4, kF16Bytes = 2;
constexpr int64_t kChunkBytes = sizeof(ActivationChunk);

// The forms in which a node's output is there so far.
struct Value {
  Operand f32;
  Operand scale;  // f32 is still to be multiplied by it
  int bias = -1;  // and the bias of this node to be added then
  Operand f16, f16_scale, chunks;
};

// The forms that a node's readers want.
struct Wants {
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

  CudaPlan Make() {
    const int count = static_cast<int>(graph_.nodes.size());
    for (int node = 0; node < count; ++node) {
      if (!covered_[node]) Plan(node);
    }
    for (const Value& value : values_) plan_.node_f32.push_back(value.f32);
    plan_.pool_bytes = PlaceBuffers(plan_.steps, &plan_.buffers);
    return std::move(plan_);
  }

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

  Wants WantsOf(int node) const {
    Wants wants;
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

  // --- Buffers and steps --------------------------------------------------------------------

  Operand NewBuffer(int64_t bytes, bool logits = false) {
    plan_.buffers.push_back({.bytes = bytes, .logits = logits});
    return {static_cast<int>(plan_.buffers.size()) - 1, 0};
  }
  Operand NewF32(int64_t rows, int64_t columns) { return NewBuffer(rows * columns * kF32Bytes); }
  Operand NewF32(int node) { return NewF32(At(node).rows, At(node).columns); }

  // A step that covers `nodes`, the last of which owns it.
  CudaStep StepOf(StepKind kind, std::vector<int> nodes) {
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
  void Label(CudaStep* step, const char* op, const std::string& label) {
    step->labels.push_back({op, label});
    if (step->kernel.empty()) step->kernel = label;
  }
  void Label(CudaStep* step, GraphOp op, const std::string& label) {
    Label(step, GraphOpName(op), label);
  }
  void Emit(CudaStep step) { plan_.steps.push_back(std::move(step)); }

  // The forms of `node` that a producer writes by itself. An unfused one writes f32 rows alone.
  void WriteForms(int node, bool f16, CudaStep* step) {
    const Node& here = At(node);
    Wants wants = WantsOf(node);
    if (!options_.fused || !f16) wants.f16 = false;
    if (!options_.fused) wants.chunks = false;
    Value& value = values_[node];
    if (wants.f32 || !(wants.f16 || wants.chunks)) step->out[0] = value.f32 = NewF32(node);
    if (wants.f16) {
      step->f16 = value.f16 = NewBuffer(here.rows * here.columns * kF16Bytes);
      step->f16_scale = value.f16_scale = NewBuffer(here.rows * kF32Bytes);
    }
    if (wants.chunks) {
      step->chunks = value.chunks = NewBuffer(here.rows * (here.columns / kBlock32) * kChunkBytes);
    }
  }
  static std::string Form(const CudaStep& step) {
    return step.f16 ? ".f16" : step.chunks ? ".rows" : "";
  }

  // --- Forms of inputs ----------------------------------------------------------------------

  // A step before `owner` that prepares its input.
  CudaStep Before(StepKind kind, int owner, int64_t rows, int64_t columns) {
    return {.kind = kind, .owner = owner, .rows = rows, .columns = columns};
  }

  // The f32 rows of `node`, scaled and biased.
  Operand F32Of(int node, int owner) {
    Value& value = values_[node];
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

  void MakePlane(int node, int owner, bool f16) {
    const Operand x = F32Of(node, owner);
    const Node& here = At(node);
    CudaStep step = Before(f16 ? StepKind::kRowsToF16 : StepKind::kQuantizeRows, owner, here.rows,
                           here.columns);
    Label(&step, "prepass", f16 ? "prepass.f16" : "prepass.rows");
    step.in[0] = x;
    Value& value = values_[node];
    if (f16) {
      step.f16 = value.f16 = NewBuffer(here.rows * here.columns * kF16Bytes);
      step.f16_scale = value.f16_scale = NewBuffer(here.rows * kF32Bytes);
    } else {
      step.chunks = value.chunks = NewBuffer(here.rows * (here.columns / kBlock32) * kChunkBytes);
    }
    Emit(std::move(step));
  }

  // Gives `step` what the matmul `node` multiplies.
  void TakeInput(int node, const PlannedWeight& weight, CudaStep* step) {
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

  // --- Matmuls ------------------------------------------------------------------------------

  static std::string NameOf(const PlannedWeight& weight, int64_t out) {
    return CudaMatmulLabel(weight.path, weight.type) + " " + std::to_string(out) + "x" +
           std::to_string(weight.k);
  }

  Operand OutputOf(int matmul) {
    const Node& node = At(matmul);
    if (node.logits_row < 0) return NewF32(matmul);
    if (!logits_) logits_ = NewBuffer(0, true);
    int64_t& bytes = plan_.buffers[static_cast<size_t>(logits_.buffer)].bytes;
    bytes = std::max(bytes, node.rows * node.columns * kF32Bytes);
    plan_.logits_rows = std::max(plan_.logits_rows, node.rows);
    return logits_;
  }

  void FinishLogits(int matmul) {
    const Node& node = At(matmul);
    if (node.logits_row < 0) return;
    CudaStep step = Before(StepKind::kLogits, matmul, node.rows, node.columns);
    step.kernel = "argmax";
    step.in[0] = logits_;
    step.logits_row = node.logits_row;
    Emit(std::move(step));
  }

  void PlanGemm(int node, const PlannedWeight& weight) {
    CudaStep step = StepOf(StepKind::kGemm, {node});
    Label(&step, GraphOp::kMatmul, CudaMatmulLabel(weight.path, weight.type));
    step.kernel = NameOf(weight, At(node).columns);
    TakeInput(node, weight, &step);
    step.weight[0] = node;
    Value& value = values_[node];
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

  // Whether `node` is a matmul on the one-row kernels that can share a launch with `first`.
  bool JoinsRows(int first, int node) const {
    if (!Exists(node) || covered_[node] || !OnRows(node)) return false;
    const PlannedWeight a = WeightOf(first), b = WeightOf(node);
    return At(node).inputs == At(first).inputs && At(node).logits_row < 0 && a.k == b.k &&
           TakesChunks(a) == TakesChunks(b);
  }

  // The swiglu of gate `node` and the matmul behind it, where one launch can do all three; else -1.
  int GateUpOf(int node) const {
    const int up = node + 1, product = node + 2;
    if (!Exists(product) || !JoinsRows(node, up) || At(product).op != GraphOp::kSwiglu) return -1;
    const bool plain = At(node).bias.empty() && At(up).bias.empty();
    const bool alone = ReadBy(node, product) && ReadBy(up, product);
    const bool alike =
        WeightOf(node).type == WeightOf(up).type && At(node).columns == At(up).columns;
    return plain && alone && alike && At(product).inputs == std::vector<int>{node, up} ? product
                                                                                       : -1;
  }

  void PlanGateUp(int gate, int product) {
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

  // The add that follows matmul `node` and alone reads it; -1 where there is none.
  int ResidualOf(int node) const {
    const int add = node + 1;
    if (!Exists(add) || At(add).op != GraphOp::kAdd || !ReadBy(node, add)) return -1;
    const std::vector<int>& inputs = At(add).inputs;
    return inputs.size() == 2 && (inputs[0] == node) != (inputs[1] == node) ? add : -1;
  }

  void PlanMatvecWithResidual(int node, int add) {
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

  void PlanMatvecs(int first) {
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

  void PlanMatmul(int node) {
    const PlannedWeight weight = WeightOf(node);
    if (weight.path != CudaMatmulPath::kRows) return PlanGemm(node, weight);
    if (options_.fused && At(node).logits_row < 0) {
      const int product = GateUpOf(node), add = ResidualOf(node);
      if (product >= 0) return PlanGateUp(node, product);
      if (add >= 0) return PlanMatvecWithResidual(node, add);
    }
    PlanMatvecs(node);
  }

  // --- The rest -----------------------------------------------------------------------------

  // The norm of `node`, after the sum `add` where it is not -1.
  void PlanNorm(int node, int add) {
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

  void PlanAdd(int node) {
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

  void PlanSwiglu(int node) {
    const int gate = At(node).inputs[0], up = At(node).inputs[1];
    CudaStep step = StepOf(StepKind::kSwiglu, {node});
    const Value &g = values_[gate], &u = values_[up];
    const bool together = g.scale && g.scale == u.scale && g.bias < 0 && u.bias < 0 &&
                          ReadBy(gate, node) && ReadBy(up, node);
    if (together) step.in_scale = g.scale;
    step.in[0] = together ? g.f32 : F32Of(gate, node);
    step.in[1] = together ? u.f32 : F32Of(up, node);
    WriteForms(node, true, &step);
    Label(&step, GraphOp::kSwiglu, "swiglu" + Form(step));
    Emit(std::move(step));
  }

  // Whether `q` is the first of rope q, rope k, kv_store, all of matmuls that nobody else reads.
  bool IsRopeKv(int q) const {
    const int k = q + 1, store = q + 2;
    if (!options_.fused || !Exists(store) || At(k).op != GraphOp::kRope ||
        At(store).op != GraphOp::kKvStore || At(store).inputs[0] != k || !ReadBy(k, store)) {
      return false;
    }
    const int v = At(store).inputs[1];
    return ReadBy(At(q).inputs[0], q) && ReadBy(At(k).inputs[0], k) && ReadBy(v, store) &&
           At(k).columns == At(v).columns && At(q).head_dim == At(k).head_dim;
  }

  void PlanRopeKv(int q) {
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

  void PlanRope(int node) {
    CudaStep step = StepOf(StepKind::kRope, {node});
    Label(&step, GraphOp::kRope, "rope");
    step.in[0] = F32Of(At(node).inputs[0], node);
    step.out[0] = values_[node].f32 = NewF32(node);
    Emit(std::move(step));
  }

  void PlanKvStore(int node) {
    CudaStep step = StepOf(StepKind::kKvStore, {node});
    Label(&step, GraphOp::kKvStore, "kv_store");
    for (int i = 0; i < 2; ++i) step.in[i] = F32Of(At(node).inputs[i], node);
    step.columns = At(At(node).inputs[0]).columns;
    Emit(std::move(step));
  }

  void PlanAttention(int node) {
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
    const Wants wants = WantsOf(node);
    if (!step.out[0] && wants.f16) step.out[0] = values_[node].f32 = NewF32(node);
    Emit(std::move(step));
  }

  void PlanEmbed(int node) {
    CudaStep step = StepOf(StepKind::kEmbed, {node});
    Label(&step, GraphOp::kEmbed, std::string("embed.") + InfoOf(WeightOf(node).type).name);
    step.weight[0] = node;
    step.out[0] = values_[node].f32 = NewF32(node);
    Emit(std::move(step));
  }

  void PlanGather(int node) {
    const int from = At(node).inputs[0];
    const Operand x = F32Of(from, node);
    CudaStep step = StepOf(StepKind::kView, {node});
    Label(&step, GraphOp::kGather, "gather.view");
    // Not read by the step, and yet alive here: its readers hold the buffer.
    values_[node].f32 = {x.buffer, x.offset + At(node).first_row * At(node).columns * kF32Bytes};
    Emit(std::move(step));
  }

  void Plan(int node) {
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

  const Graph& graph_;
  const PlanOptions& options_;
  std::vector<Value> values_;
  std::vector<bool> covered_;
  std::vector<std::vector<int>> readers_;
  Operand logits_;
  CudaPlan plan_;
};

}  // namespace

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
