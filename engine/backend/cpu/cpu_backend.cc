#include "engine/backend/cpu/cpu_backend.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "engine/backend/cpu/cpu_kv_cache.h"
#include "engine/backend/cpu/f16_cache.h"
#include "engine/backend/cpu/matmul_path.h"

namespace fg {
namespace {

constexpr size_t kUnbookedBytes = size_t{64} << 20;

class CpuGraph : public ExecutableGraph {
 public:
  CpuGraph(Graph graph, MemoryBook* memory)
      : graph_(std::move(graph)), plan_(PlanBuffers(graph_)), memory_(memory) {}
  ~CpuGraph() override { memory_->Remove(MemoryCategory::kGraph, booked_); }

  const Graph& graph() const override { return graph_; }
  const BufferPlan& plan() const { return plan_; }

  struct NodeWeights {
    const CpuWeight* weight = nullptr;
    const float* bias = nullptr;
  };
  std::vector<NodeWeights>& weights() { return weights_; }
  const NodeWeights& weights(int node) const { return weights_[node]; }

  void Book() {
    booked_ = graph_.bytes() + plan_.buffers.capacity() * sizeof(BufferPlan::Buffer) +
              weights_.capacity() * sizeof(NodeWeights);
    memory_->Add(MemoryCategory::kGraph, booked_);
  }

 private:
  Graph graph_;
  BufferPlan plan_;
  std::vector<NodeWeights> weights_;  // one a node
  MemoryBook* memory_;
  uint64_t booked_ = 0;
};

bool IsMatmulWeight(const ModelWeight& weight) { return weight.role != WeightRole::kVector; }

// The path that a forward of 16 rows or more takes with this weight, decided at load.
MatmulPath WidePath(const Gates& gates, const ModelWeight& weight) {
  return ChooseMatmulPath(gates, weight.view.type, weight.view.k, kPrefillRows, Phase::kLoad).path;
}

}  // namespace

struct CpuBackend::Run {
  const CpuGraph& graph;
  const ForwardInputs& inputs;
  CpuKvCache& kv;
  std::byte* pool;

  float* output(int node) const {
    const Node& here = graph.graph().nodes[node];
    if (here.logits_row >= 0) return inputs.logits + here.logits_row * here.columns;
    const int64_t offset = graph.plan().buffers[node].offset;
    return offset < 0 ? nullptr : reinterpret_cast<float*>(pool + offset);
  }
};

Status CpuBackend::RegisterWeights(const ModelWeights& weights) {
  const bool leak = context_.Faulty(Fault::kCacheLeaked);
  for (const ModelWeight& weight : weights.all()) {
    CpuWeight& registered = weights_[weight.view.name];
    registered = {weight.view, nullptr};
    if (!IsMatmulWeight(weight)) continue;
    FG_RETURN_IF_ERROR(CheckMatmulWeight(weight.view));
    if (weight.role != WeightRole::kW16 || !InfoOf(weight.view.type).quantized) continue;
    if (WidePath(context_.gates(), weight) != MatmulPath::kGemmF16 && !leak) continue;
    FG_ASSIGN_OR_RETURN(HostBuffer cache, BuildF16Cache(context_, weight.view));
    registered.f16 = cache.as<uint16_t>();
    f16_caches_.push_back(std::move(cache));
  }
  return Status::Ok();
}

Status CpuBackend::ReservePlanes(const ModelWeights& weights) {
  // The widest row of each form, over all rows of a forward and over the few of the one-row
  // kernels.
  int64_t quantized_wide = 0, quantized_few = 0, rounded = 0;
  for (const ModelWeight& weight : weights.all()) {
    if (!IsMatmulWeight(weight)) continue;
    const bool quantized = InfoOf(weight.view.type).quantized;
    const int64_t k = weight.view.k;
    if (quantized) quantized_few = std::max(quantized_few, k);
    if (weight.role != WeightRole::kW16) continue;
    const bool cached = weights_[weight.view.name].f16 != nullptr;
    const bool half = weight.view.type == TensorType::kF16 || weight.view.type == TensorType::kBF16;
    if (quantized && !cached) quantized_wide = std::max(quantized_wide, k);
    if (cached || half) rounded = std::max(rounded, k);
  }
  const int64_t few = std::min<int64_t>(options_.batch, kTailRows);
  // One buffer serves both, so the larger of the two is taken.
  if (few * quantized_few > options_.batch * quantized_wide) {
    FG_RETURN_IF_ERROR(context_.planes().ReserveQuantized(few, quantized_few));
  } else {
    FG_RETURN_IF_ERROR(context_.planes().ReserveQuantized(options_.batch, quantized_wide));
  }
  return context_.planes().ReserveRounded(rounded > 0 ? options_.batch : 0, rounded);
}

Status CpuBackend::ReservePool(int64_t bytes) {
  if (static_cast<uint64_t>(bytes) <= pool_.bytes()) return Status::Ok();
  pool_ = HostBuffer();
  FG_ASSIGN_OR_RETURN(pool_, HostBuffer::Allocate(bytes, MemoryCategory::kScratch,
                                                  context_.memory(), "the graph's pool"));
  return Status::Ok();
}

Status CpuBackend::LoadModel(const Hyperparameters& model, const ModelWeights& weights,
                             const BackendOptions& options) {
  model_ = model;
  options_ = options;
  FG_RETURN_IF_ERROR(RegisterWeights(weights));
  FG_RETURN_IF_ERROR(ReservePlanes(weights));
  FG_RETURN_IF_ERROR(context_.ReserveScores(options.context));
  // Buffers grow with the rows; how many are wanted moves a few small ones only.
  for (const int64_t wanted : {int64_t{0}, options.batch}) {
    const Graph graph = BuildGraph({model.shape, options.batch, wanted});
    FG_RETURN_IF_ERROR(ReservePool(PlanBuffers(graph).peak));
  }
  rope_ = MakeRopeTable(options.context, model.rope_dims, model.rope_base);
  context_.memory()->Add(MemoryCategory::kScratch,
                         (rope_.cosine.size() + rope_.sine.size()) * sizeof(float));
  if (context_.Faulty(Fault::kUnbookedMemory)) unbooked_.assign(kUnbookedBytes, std::byte{1});
  return Status::Ok();
}

Result<const CpuWeight*> CpuBackend::FindWeight(const std::string& name) const {
  const auto found = weights_.find(name);
  if (found != weights_.end()) return &found->second;
  return Status(ErrorKind::kInternal, "the graph names tensor '" + name + "', the model has none");
}

Result<std::unique_ptr<ExecutableGraph>> CpuBackend::Prepare(Graph graph) {
  auto prepared = std::make_unique<CpuGraph>(std::move(graph), context_.memory());
  FG_RETURN_IF_ERROR(ReservePool(prepared->plan().peak));
  for (const Node& node : prepared->graph().nodes) {
    CpuGraph::NodeWeights found;
    if (!node.weight.empty()) {
      FG_ASSIGN_OR_RETURN(found.weight, FindWeight(node.weight));
    }
    if (!node.bias.empty()) {
      FG_ASSIGN_OR_RETURN(const CpuWeight* bias, FindWeight(node.bias));
      found.bias = static_cast<const float*>(bias->view.data);
    }
    prepared->weights().push_back(found);
  }
  prepared->Book();
  return std::unique_ptr<ExecutableGraph>(std::move(prepared));
}

Result<std::unique_ptr<KvCache>> CpuBackend::NewKvCache() {
  const int64_t layer_values = options_.context * model_.shape.kv_width();
  const uint64_t bytes =
      2 * static_cast<uint64_t>(model_.shape.layers) * layer_values * sizeof(uint16_t);
  FG_ASSIGN_OR_RETURN(HostBuffer buffer, HostBuffer::Allocate(bytes, MemoryCategory::kKv,
                                                              context_.memory(), "a KV cache"));
  return std::unique_ptr<KvCache>(
      std::make_unique<CpuKvCache>(std::move(buffer), model_.shape.layers, layer_values));
}

Status CpuBackend::RunAttentionNode(const Run& run, const Node& node, const float* q, float* y) {
  const ModelShape& shape = model_.shape;
  const AttentionArgs args = {.q = q,
                              .ldq = shape.query_width(),
                              .keys = run.kv.keys(node.layer),
                              .values = run.kv.values(node.layer),
                              .positions = run.inputs.positions,
                              .rows = node.rows,
                              .heads = shape.heads,
                              .kv_heads = shape.kv_heads,
                              .head_dim = shape.head_dim,
                              .y = y,
                              .ldy = shape.query_width()};
  return RunAttention(context_, args, run.inputs.phase);
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
      RunRmsNorm(context_, input(0), static_cast<const float*>(weights.weight->view.data),
                 node.rows, node.columns, model_.norm_epsilon, y, in.phase);
      return Status::Ok();
    case GraphOp::kMatmul:
      return RunMatmul(context_, *weights.weight, input(0), node.rows, weights.bias, y, in.phase);
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
    case GraphOp::kSwiglu:
      RunSwiglu(context_, input(0), input(1), node.rows, node.columns, y, in.phase);
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

Status CpuBackend::Execute(const ExecutableGraph& graph, const ForwardInputs& inputs) {
  const Run run = {static_cast<const CpuGraph&>(graph), inputs,
                   static_cast<CpuKvCache&>(*inputs.kv), pool_.as<std::byte>()};
  const std::vector<Node>& nodes = graph.graph().nodes;
  if (options_.poison) std::memset(pool_.data(), 0xFF, pool_.bytes());
  context_.planes().Clear();
  for (size_t index = 0; index < nodes.size(); ++index) {
    if (nodes[index].op != GraphOp::kMatmul) context_.planes().Clear();
    const Status status = RunNode(run, static_cast<int>(index));
    if (!status.ok()) {
      context_.planes().Clear();
      return status.WithContext(GraphOpName(nodes[index].op));
    }
    if (options_.poison) PoisonDead(run, static_cast<int>(index));
  }
  context_.planes().Clear();
  if (context_.Faulty(Fault::kNanLogits) && inputs.phase == Phase::kPrefill) {
    for (int64_t row = 0; row < graph.graph().params.wanted; ++row) {
      inputs.logits[row * model_.shape.vocabulary] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  return Status::Ok();
}

}  // namespace fg
