// Runs a plan by symbols: every place holds the name of a node's output and what it still lacks, so
// a step that reads the wrong place, a value that was not scaled, or a node that nobody computes
// shows, without a device. Written from the meaning of the steps (cuda_step.h), not from the
// planner.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend/cuda/cuda_plan.h"

namespace fg::testing {

class SymbolicRun {
 public:
  SymbolicRun(const Graph& graph, const CudaPlan& plan) : graph_(graph), plan_(plan) {}

  // What is wrong; empty where nothing is.
  std::vector<std::string> Faults() {
    for (at_ = 0; at_ < plan_.steps.size(); ++at_) Step(plan_.steps[at_]);
    for (size_t node = 0; node < graph_.nodes.size(); ++node) {
      const auto times = covered_.count(static_cast<int>(node));
      if (times != 1)
        Fault("node " + std::to_string(node) + " is covered " + std::to_string(times) + " times");
    }
    return faults_;
  }

 private:
  enum class Form { kF32, kF16, kScale, kChunks };
  struct Content {
    std::set<int> nodes;  // a view bears two names
    Form form = Form::kF32;
    int scale = -1;  // the buffer by which it is still to be multiplied
    int bias = -1;   // the node whose bias is still to be added
  };
  using Place = std::pair<int, int64_t>;

  const Node& At(int node) const { return graph_.nodes[static_cast<size_t>(node)]; }
  void Fault(const std::string& text) {
    faults_.push_back("step " + std::to_string(at_) + ": " + text);
  }

  // Holds `operand` to be the whole output of `node` in `form`, once `scale` and `bias` are
  // applied.
  void Read(const Operand& operand, int node, Form form, const Operand& scale = {}, int bias = -1) {
    if (!operand) return Fault("does not read node " + std::to_string(node));
    const auto found = held_.find({operand.buffer, operand.offset});
    if (found == held_.end()) return Fault("reads a place that nobody wrote");
    const Content& content = found->second;
    if (!content.nodes.contains(node))
      return Fault("reads another node than " + std::to_string(node));
    if (content.form != form)
      return Fault("reads node " + std::to_string(node) + " in another form");
    if (content.scale != scale.buffer) Fault("node " + std::to_string(node) + " is scaled wrongly");
    if (content.bias != bias) Fault("node " + std::to_string(node) + " is biased wrongly");
    const int64_t bytes = BytesOf(node, form), room = RoomOf(operand);
    if (room < bytes) Fault("node " + std::to_string(node) + " does not fit");
  }
  void Write(const Operand& operand, int node, Form form, int scale = -1, int bias = -1) {
    if (!operand) return;
    held_[{operand.buffer, operand.offset}] = {{node}, form, scale, bias};
    if (RoomOf(operand) < BytesOf(node, form))
      Fault("node " + std::to_string(node) + " does not fit");
  }
  int64_t BytesOf(int node, Form form) const {
    const int64_t rows = At(node).rows, columns = At(node).columns;
    return form == Form::kF32     ? rows * columns * 4
           : form == Form::kF16   ? rows * columns * 2
           : form == Form::kScale ? rows * 4
                                  : rows * (columns / 32) * 40;
  }
  int64_t RoomOf(const Operand& operand) const {
    return plan_.buffers[static_cast<size_t>(operand.buffer)].bytes - operand.offset;
  }

  void WriteForms(const CudaStep& step, int node) {
    Write(step.out[0], node, Form::kF32);
    Write(step.f16, node, Form::kF16);
    Write(step.f16_scale, node, Form::kScale);
    Write(step.chunks, node, Form::kChunks);
    if (static_cast<bool>(step.f16) != static_cast<bool>(step.f16_scale))
      Fault("f16 without scale");
    if (!step.out[0] && !step.f16 && !step.chunks) Fault("writes nothing");
  }
  // Books the nodes of a step; false where it does not cover `count`.
  bool Cover(const CudaStep& step, size_t count) {
    for (const int node : step.nodes) covered_.insert(node);
    if (step.labels.size() != step.nodes.size()) Fault("counts another number of labels");
    if (step.nodes.size() == count) return true;
    Fault("covers " + std::to_string(step.nodes.size()) + " nodes");
    return false;
  }

  void ReadMatmulInput(const CudaStep& step, int matmul) {
    const int x = At(matmul).inputs[0];
    if (step.f32) {
      Read(step.in[0], x, Form::kF32);
    } else {
      Read(step.plane, x, step.kind == StepKind::kGemm ? Form::kF16 : Form::kChunks);
    }
    if (step.rows != At(matmul).rows || step.k != At(x).columns) Fault("another shape");
  }

  void Gemm(const CudaStep& step) {
    if (!Cover(step, 1)) return;
    const int node = step.nodes[0];
    ReadMatmulInput(step, node);
    if (step.weight[0] != node) Fault("another weight");
    int scale = -1;
    for (const auto& [place, content] : held_) {
      if (!step.f32 && content.form == Form::kScale && content.nodes.contains(At(node).inputs[0])) {
        scale = place.first;
      }
    }
    Write(step.out[0], node, Form::kF32, scale, At(node).bias.empty() ? -1 : node);
  }

  void Matvec(const CudaStep& step) {
    size_t count = 0;
    while (count < 3 && step.weight[count] >= 0) ++count;
    if (!Cover(step, count + (step.residual ? 1 : 0))) return;
    for (size_t i = 0; i < count; ++i) {
      const int node = step.weight[i];
      ReadMatmulInput(step, node);
      if (step.bias[i] != node || step.nodes[i] != node) Fault("another weight");
      if (!step.residual) Write(step.out[i], node, Form::kF32);
    }
    if (!step.residual) return;
    const int matmul = step.nodes[0], add = step.nodes[1];
    std::vector<int> inputs = At(add).inputs;
    const auto own = std::find(inputs.begin(), inputs.end(), matmul);
    if (own == inputs.end()) return Fault("the residual's add does not take the matmul");
    inputs.erase(own);
    Read(step.residual, inputs[0], Form::kF32);
    Write(step.out[0], add, Form::kF32);
  }

  void GateUp(const CudaStep& step) {
    if (!Cover(step, 3)) return;
    for (int i = 0; i < 2; ++i) {
      ReadMatmulInput(step, step.weight[i]);
      if (step.weight[i] != At(step.nodes[2]).inputs[i]) Fault("gate and up exchanged");
    }
    WriteForms(step, step.nodes[2]);
  }

  void Norm(const CudaStep& step) {
    const bool sum = static_cast<bool>(step.in[1]);
    if (!Cover(step, sum ? 2 : 1)) return;
    const int norm = step.nodes.back();
    int x = At(norm).inputs[0];
    if (sum) {
      const int add = step.nodes[0];
      if (x != add) Fault("the norm is of another sum");
      const std::vector<int>& inputs = At(add).inputs;
      const auto first = held_.find({step.in[0].buffer, step.in[0].offset});
      const bool swapped = first != held_.end() && !first->second.nodes.contains(inputs[0]);
      Read(step.in[0], inputs[swapped ? 1 : 0], Form::kF32);
      Read(step.in[1], inputs[swapped ? 0 : 1], Form::kF32, step.in_scale);
      if (!step.out[1]) Fault("the sum is not kept");
      Write(step.out[1], add, Form::kF32);
    } else {
      Read(step.in[0], x, Form::kF32);
    }
    if (step.weight[0] != norm) Fault("another weight");
    WriteForms(step, norm);
  }

  void RopeKv(const CudaStep& step) {
    if (!Cover(step, 3)) return;
    const int q = step.nodes[0], k = step.nodes[1], store = step.nodes[2];
    const int from[3] = {At(q).inputs[0], At(k).inputs[0], At(store).inputs[1]};
    if (At(store).inputs[0] != k) Fault("another key is stored");
    for (int i = 0; i < 3; ++i) Read(step.in[i], from[i], Form::kF32, step.in_scale, step.bias[i]);
    if (step.layer != At(store).layer) Fault("another layer");
    Write(step.out[0], q, Form::kF32);
    stored_.insert(store);
  }

  void Attention(const CudaStep& step) {
    if (!Cover(step, 1)) return;
    const int node = step.nodes[0];
    Read(step.in[0], At(node).inputs[0], Form::kF32);
    if (!stored_.contains(At(node).inputs[1])) Fault("the keys are not stored yet");
    if (step.layer != At(node).layer) Fault("another layer");
    WriteForms(step, node);
  }

  void Swiglu(const CudaStep& step) {
    if (!Cover(step, 1)) return;
    const std::vector<int>& inputs = At(step.nodes[0]).inputs;
    for (int i = 0; i < 2; ++i) Read(step.in[i], inputs[i], Form::kF32, step.in_scale);
    WriteForms(step, step.nodes[0]);
  }

  // Of steps that prepare another's input.
  void Prepare(const CudaStep& step) {
    if (!step.nodes.empty()) Fault("covers a node");
    const Operand& place = step.kind == StepKind::kScaleBias ? step.out[0] : step.in[0];
    const auto found = held_.find({place.buffer, place.offset});
    if (found == held_.end()) return Fault("reads a place that nobody wrote");
    Content& content = found->second;
    const int node = *content.nodes.begin();
    if (step.rows != At(node).rows || step.columns != At(node).columns) Fault("another shape");
    if (step.kind == StepKind::kScaleBias) {
      if (content.scale != step.in_scale.buffer || content.bias != step.bias[0])
        Fault("scales wrongly");
      if (content.scale < 0 && content.bias < 0) Fault("does nothing");
      content.scale = content.bias = -1;
      return;
    }
    Read(step.in[0], node, Form::kF32);
    WriteForms(step, node);
  }

  void Plain(const CudaStep& step) {
    if (!Cover(step, 1)) return;
    const int node = step.nodes[0];
    for (size_t i = 0; i < At(node).inputs.size(); ++i) {
      Read(step.in[i], At(node).inputs[i], Form::kF32);
    }
    Write(step.out[0], node, Form::kF32);
    if (step.kind == StepKind::kKvStore) stored_.insert(node);
  }

  void View(const CudaStep& step) {
    if (!Cover(step, 1)) return;
    const int node = step.nodes[0], from = At(node).inputs[0];
    const Operand whole = plan_.node_f32[static_cast<size_t>(from)];
    const Operand part = plan_.node_f32[static_cast<size_t>(node)];
    Read(whole, from, Form::kF32);
    const int64_t skip = At(node).first_row * At(node).columns * 4;
    if (part.buffer != whole.buffer || part.offset != whole.offset + skip) Fault("another row");
    held_[{part.buffer, part.offset}].nodes.insert(node);
    if (RoomOf(part) < BytesOf(node, Form::kF32)) Fault("the view does not fit");
  }

  void Logits(const CudaStep& step) {
    Read(step.in[0], step.owner, Form::kF32);
    if (step.logits_row != At(step.owner).logits_row || step.rows != At(step.owner).rows) {
      Fault("other logits");
    }
    if (!plan_.buffers[static_cast<size_t>(step.in[0].buffer)].logits) Fault("logits in the pool");
  }

  void Step(const CudaStep& step) {
    switch (step.kind) {
      case StepKind::kNorm:
        return Norm(step);
      case StepKind::kGemm:
        return Gemm(step);
      case StepKind::kMatvec:
        return Matvec(step);
      case StepKind::kGateUp:
        return GateUp(step);
      case StepKind::kRopeKv:
        return RopeKv(step);
      case StepKind::kAttention:
        return Attention(step);
      case StepKind::kSwiglu:
        return Swiglu(step);
      case StepKind::kScaleBias:
      case StepKind::kRowsToF16:
      case StepKind::kQuantizeRows:
        return Prepare(step);
      case StepKind::kView:
        return View(step);
      case StepKind::kLogits:
        return Logits(step);
      case StepKind::kEmbed:
      case StepKind::kRope:
      case StepKind::kKvStore:
      case StepKind::kAdd:
        return Plain(step);
    }
  }

  const Graph& graph_;
  const CudaPlan& plan_;
  size_t at_ = 0;
  std::map<Place, Content> held_;
  std::set<int> stored_;
  std::multiset<int> covered_;
  std::vector<std::string> faults_;
};

// Buffers that are alive together and share bytes, or reach beyond the pool.
inline std::vector<std::string> PlacingFaults(const CudaPlan& plan) {
  std::vector<std::string> faults;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const StepBuffer& a = plan.buffers[i];
    if (a.logits || a.first < 0) continue;
    if (a.offset < 0 || a.offset + a.bytes > plan.pool_bytes ||
        a.offset % kStepBufferAlignment != 0) {
      faults.push_back("buffer " + std::to_string(i) + " is placed wrongly");
    }
    for (size_t j = 0; j < i; ++j) {
      const StepBuffer& b = plan.buffers[j];
      if (b.logits || b.first < 0 || a.first > b.last || b.first > a.last) continue;
      if (a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) continue;
      faults.push_back("buffers " + std::to_string(j) + " and " + std::to_string(i) + " overlap");
    }
  }
  return faults;
}

}  // namespace fg::testing
