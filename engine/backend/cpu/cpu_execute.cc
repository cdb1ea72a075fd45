// Running a prepared graph: node by node, with the plane cache, the fused producers, the observer
// and the violations.
#include <chrono>
#include <cstring>
#include <limits>

#include "engine/backend/argmax.h"
#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cpu/cpu_graph.h"
#include "engine/backend/cpu/cpu_kv_cache.h"
#include "engine/backend/cpu/shared_sources.h"

namespace fg {
namespace {

std::string NodeText(const Graph& graph, int index) {
  const Node& node = graph.nodes[index];
  std::string text = "node " + std::to_string(index) + " (" + GraphOpName(node.op);
  if (!node.weight.empty()) text += " " + node.weight;
  return text + ")";
}

}  // namespace

struct CpuBackend::Run {
  const CpuGraph& graph;
  const ForwardInputs& inputs;
  CpuKvCache& kv;
  std::byte* pool;
  SharedSources shared = {};  // kStalePlane
  std::vector<HostBuffer> shared_slots = {};

  float* output(int node) const {
    const Node& here = graph.graph().nodes[node];
    if (!shared.slot.empty() && shared.slot[node] >= 0) {
      return shared_slots[shared.slot[node]].as<float>();
    }
    if (here.logits_row >= 0) return inputs.logits + here.logits_row * here.columns;
    const int64_t offset = graph.plan().buffers[node].offset;
    return offset < 0 ? nullptr : reinterpret_cast<float*>(pool + offset);
  }
};

Status CpuBackend::RunAttentionNode(const Run& run, const Node& node, const float* q, float* y) {
  const ModelShape& shape = model_.shape;
  const int32_t* positions = run.inputs.positions;
  std::vector<int32_t> one_off;
  if (run.inputs.kv_row_off) {
    for (int64_t row = 0; row < node.rows; ++row) {
      one_off.push_back(std::max(positions[row] - 1, 0));
    }
    positions = one_off.data();
  }
  const AttentionArgs args = {.q = q,
                              .ldq = shape.query_width(),
                              .keys = run.kv.keys(node.layer),
                              .values = run.kv.values(node.layer),
                              .positions = positions,
                              .rows = node.rows,
                              .heads = shape.heads,
                              .kv_heads = shape.kv_heads,
                              .head_dim = shape.head_dim,
                              .y = y,
                              .ldy = shape.query_width()};
  return RunAttention(context_, args, run.inputs.phase);
}

// The mode in which the producer runs: the model's, where the gate still asks for it. Fewer than 16
// rows ask nothing.
int CpuBackend::FusedMode(const Run& run, int index) {
  if (!run.graph.in_window(index)) return 0;
  return std::min(report_.fuse_mode, context_.gates().Mode(Gate::kMmqAFuse, run.inputs.phase));
}

Status CpuBackend::RunProducer(const Run& run, int index) {
  const Node& node = run.graph.graph().nodes[index];
  const float* x = run.output(node.inputs[0]);
  float* y = run.output(index);
  const Phase phase = run.inputs.phase;
  const bool norm = node.op == GraphOp::kRmsNorm;
  const float* w = norm ? static_cast<const float*>(run.graph.weights(index).weight->view.data)
                        : run.output(node.inputs[1]);
  const int mode = FusedMode(run, index);
  const bool dead = mode > 0 && context_.Faulty(Fault::kFuseDead);
  if (mode == 0 || dead) {
    const std::string label = std::string(GraphOpName(node.op)) + (dead ? "!" : "");
    if (norm) {
      RunRmsNorm(context_, x, w, node.rows, node.columns, model_.norm_epsilon, y, phase,
                 label.c_str());
    } else {
      RunSwiglu(context_, x, w, node.rows, node.columns, y, phase, label.c_str());
    }
    return Status::Ok();
  }
  ActivationPlanes& planes = context_.planes();
  FG_RETURN_IF_ERROR(planes.Reserve(PlaneLayout::kTiles, node.rows, node.columns));
  if (norm) {
    RunRmsNormTiles(context_, x, w, node.rows, node.columns, model_.norm_epsilon, mode, y,
                    planes.tiles(), phase);
  } else {
    RunSwigluTiles(context_, x, w, node.rows, node.columns, mode, y, planes.tiles(), phase);
  }
  planes.Record(PlaneLayout::kTiles, {y, node.rows, node.columns, index}, mode == 2);
  return Status::Ok();
}

Status CpuBackend::RunNode(const Run& run, int index) {
  const Node& node = run.graph.graph().nodes[index];
  const CpuGraph::NodeWeights& weights = run.graph.weights(index);
  const auto input = [&](int place) { return run.output(node.inputs[place]); };
  float* y = run.output(index);
  const ForwardInputs& in = run.inputs;
  switch (node.op) {
    case GraphOp::kEmbed:
      RunEmbed(context_, weights.weight->view, in.tokens, node.rows, y, in.phase);
      return Status::Ok();
    case GraphOp::kRmsNorm:
    case GraphOp::kSwiglu:
      return RunProducer(run, index);
    case GraphOp::kMatmul:
      return RunMatmul(context_, *weights.weight, input(0), node.rows, weights.bias, y, in.phase,
                       node.inputs[0]);
    case GraphOp::kRope:
      if (y != input(0)) std::memcpy(y, input(0), node.rows * node.columns * sizeof(float));
      RunRope(context_, y, node.rows, node.columns / node.head_dim, node.head_dim, in.positions,
              rope_, in.phase);
      return Status::Ok();
    case GraphOp::kKvStore:
      RunKvStore(context_, input(0), input(1), node.rows, model_.shape.kv_width(), in.positions,
                 run.kv.keys(node.layer), run.kv.values(node.layer), in.phase);
      return Status::Ok();
    case GraphOp::kAttention:
      return RunAttentionNode(run, node, input(0), y);
    case GraphOp::kAdd:
      RunAdd(context_, input(0), input(1), node.rows * node.columns, y, in.phase);
      return Status::Ok();
    case GraphOp::kGather:
      RunGather(context_, input(0), node.first_row, node.rows, node.columns, y, in.phase);
      return Status::Ok();
  }
  return Status(ErrorKind::kInternal, "no such graph operation");
}

void CpuBackend::PoisonDead(const Run& run, int index) {
  const BufferPlan& plan = run.graph.plan();
  for (int node = 0; node <= index; ++node) {
    const BufferPlan::Buffer& buffer = plan.buffers[node];
    if (buffer.offset < 0 || buffer.last_use != index || plan.buffers[index].in_place_of == node) {
      continue;
    }
    std::memset(run.pool + buffer.offset, 0xFF, buffer.bytes);
  }
}

Status CpuBackend::CheckViolation(const Run& run) const {
  const int64_t rows = run.graph.graph().params.rows;
  if (run.inputs.violation != Violation::kDeadWrite) return Status::Ok();
  if (rows >= kPrefillRows && report_.fuse_mode == 2) return Status::Ok();
  return Status(ErrorKind::kBadRequest,
                "the violation dead_write cannot arise: it needs FG_MMQ_A_FUSE in mode 2 and 16 "
                "rows or more; here are mode " +
                    std::to_string(report_.fuse_mode) + " and " + std::to_string(rows) + " rows");
}

// Places the sources of matmuls at shared addresses, as an allocator may.
Status CpuBackend::ShareSources(Run* run) {
  run->shared = FindSharedSources(run->graph.graph(), run->graph.plan());
  for (const int64_t bytes : run->shared.bytes) {
    FG_ASSIGN_OR_RETURN(HostBuffer slot,
                        HostBuffer::Allocate(bytes, MemoryCategory::kScratch, context_.memory(),
                                             "a shared source"));
    run->shared_slots.push_back(std::move(slot));
  }
  return Status::Ok();
}

Status CpuBackend::RunObserved(const Run& run, int index) {
  if (observer_ == nullptr) return RunNode(run, index);
  const auto start = std::chrono::steady_clock::now();
  FG_RETURN_IF_ERROR(RunNode(run, index));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const Node& node = run.graph.graph().nodes[index];
  return observer_->AfterNode({.index = index,
                               .node = node,
                               .values = node.columns > 0 ? run.output(index) : nullptr,
                               .label = context_.last_label(),
                               .seconds = took.count()});
}

Status CpuBackend::RunNodes(const Run& run) {
  const Graph& graph = run.graph.graph();
  for (size_t at = 0; at < graph.nodes.size(); ++at) {
    const int index = static_cast<int>(at);
    const Node& node = graph.nodes[at];
    if (node.op != GraphOp::kMatmul && run.inputs.violation != Violation::kStalePlane) {
      context_.planes().Clear();
    }
    const Status status = RunObserved(run, index);
    if (status.kind() == ErrorKind::kRefused) return status.WithContext(NodeText(graph, index));
    if (!status.ok()) return status.WithContext(GraphOpName(node.op));
    if (options_.poison) PoisonDead(run, index);
  }
  return Status::Ok();
}

Status CpuBackend::Execute(const ExecutableGraph& graph, const ForwardInputs& inputs) {
  const int64_t wanted = graph.graph().params.wanted, vocabulary = model_.shape.vocabulary;
  if (inputs.argmax == nullptr || wanted == 0) return ExecuteLogits(graph, inputs);
  ForwardInputs with_logits = inputs;
  if (inputs.logits == nullptr) {
    const uint64_t bytes = static_cast<uint64_t>(wanted * vocabulary) * sizeof(float);
    if (bytes > logits_.bytes()) {
      logits_ = HostBuffer();
      FG_ASSIGN_OR_RETURN(logits_, HostBuffer::Allocate(bytes, MemoryCategory::kScratch,
                                                        context_.memory(), "logits"));
    }
    with_logits.logits = logits_.as<float>();
  }
  FG_RETURN_IF_ERROR(ExecuteLogits(graph, with_logits));
  for (int64_t row = 0; row < wanted; ++row) {
    inputs.argmax[row] =
        HighestId({with_logits.logits + row * vocabulary, static_cast<size_t>(vocabulary)});
  }
  return Status::Ok();
}

Status CpuBackend::ExecuteLogits(const ExecutableGraph& graph, const ForwardInputs& inputs) {
  Run run = {static_cast<const CpuGraph&>(graph), inputs, static_cast<CpuKvCache&>(*inputs.kv),
             pool_.as<std::byte>()};
  FG_RETURN_IF_ERROR(CheckViolation(run));
  if (inputs.violation == Violation::kStalePlane) FG_RETURN_IF_ERROR(ShareSources(&run));
  if (options_.poison) std::memset(pool_.data(), 0xFF, pool_.bytes());
  const int64_t forward = forwards_++;
  if (observer_ != nullptr) {
    FG_RETURN_IF_ERROR(observer_->BeginForward(forward, graph.graph(), inputs.phase));
  }
  context_.planes().Clear();
  context_.planes().ForgetBreach();
  context_.set_violation(inputs.violation);
  const Status status = RunNodes(run);
  context_.set_violation(Violation::kNone);
  context_.planes().Clear();
  if (status.kind() == ErrorKind::kRefused) context_.ledger().AddRefusal(status.message());
  FG_RETURN_IF_ERROR(status);
  if (inputs.violation != Violation::kNone && !context_.planes().breached()) {
    return Status(ErrorKind::kBadRequest,
                  "the violation did not arise: no matmul of this graph met a plane of the same "
                  "address and shape");
  }
  if (observer_ != nullptr) FG_RETURN_IF_ERROR(observer_->EndForward());
  if (context_.Faulty(Fault::kNanLogits) && inputs.phase == Phase::kPrefill) {
    for (int64_t row = 0; row < graph.graph().params.wanted; ++row) {
      inputs.logits[row * model_.shape.vocabulary] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  return Status::Ok();
}

}  // namespace fg
