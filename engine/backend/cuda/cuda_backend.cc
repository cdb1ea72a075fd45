#include "engine/backend/cuda/cuda_backend.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/rope.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/elementwise.h"

namespace fg {
namespace {

constexpr int64_t kUnbookedBytes = int64_t{64} << 20;
constexpr char kHint[] = "set a smaller --context or --batch";
constexpr int kInputArrays = 3;  // tokens, positions, positions as attention sees them

}  // namespace

CudaBackend::~CudaBackend() {
  captured_->Clear();
  context_->memory()->Remove(MemoryCategory::kScratch, booked_workspace_);
}

Result<std::unique_ptr<Backend>> NewCudaBackend(const Gates& gates, Ledger* ledger,
                                                MemoryBook* memory, const DeviceInfo& info,
                                                CublasLt* cublaslt) {
  FG_ASSIGN_OR_RETURN(auto context, CudaContext::Make(gates, ledger, memory, info, cublaslt));
  return std::unique_ptr<Backend>(std::make_unique<CudaBackend>(std::move(context)));
}

// The int8 family is not here: no planes, mode 0. CudaWeights says what that degrades.
void CudaBackend::Describe(const ModelWeights& weights) {
  report_.nibble_family_only = true;
  for (const ModelWeight& weight : weights.all()) {
    const TensorType type = weight.view.type;
    const bool nibble = type == TensorType::kQ4_K || type == TensorType::kQ6_K;
    if (weight.role == WeightRole::kW16 && !nibble) report_.nibble_family_only = false;
  }
  report_.fuse_asked = context_->gates().Mode(Gate::kMmqAFuse, Phase::kLoad);
  report_.fuse_mode = 0;
}

Status CudaBackend::LoadRope() {
  const RopeTable table = MakeRopeTable(options_.context, model_.rope_dims, model_.rope_base);
  const uint64_t bytes = table.cosine.size() * sizeof(float);
  FG_ASSIGN_OR_RETURN(rope_, DeviceBuffer::Allocate(2 * bytes, MemoryCategory::kScratch,
                                                    context_->memory(), "the RoPE tables", kHint));
  float* cosine = rope_.as<float>();
  float* sine = cosine + table.cosine.size();
  for (const auto& [to, from] : {std::pair(cosine, &table.cosine), std::pair(sine, &table.sine)}) {
    FG_RETURN_IF_ERROR(context_->Check(
        cudaMemcpyAsync(to, from->data(), bytes, cudaMemcpyHostToDevice, context_->stream()),
        "the RoPE tables"));
  }
  step_model_ = {model_.shape, model_.norm_epsilon, {cosine, sine, table.pairs}};
  return context_->Wait("the RoPE tables");
}

Status CudaBackend::LoadModel(const Hyperparameters& model, const ModelWeights& weights,
                              const BackendOptions& options) {
  model_ = model;
  options_ = options;
  FG_RETURN_IF_ERROR(context_->device_error());
  if (const auto memory = device_memory()) used_before_ = memory->used;
  FG_RETURN_IF_ERROR(weights_.Load(*context_, weights));
  Describe(weights);
  FG_RETURN_IF_ERROR(LoadRope());
  // Room grows with the rows; how many are wanted moves a few small arrays only. The few rows of a
  // decode step have a plan of their own.
  const int64_t few = std::min<int64_t>(options.batch, kTailRows);
  for (const int64_t rows : {options.batch, few}) {
    for (const int64_t wanted : {int64_t{0}, rows}) {
      FG_RETURN_IF_ERROR(PlanRoom({model.shape, rows, wanted}));
    }
  }
  booked_workspace_ = context_->cublaslt().workspace_bytes();
  context_->memory()->Add(MemoryCategory::kScratch, booked_workspace_);
  if (context_->Faulty(Fault::kUnbookedMemory)) {
    FG_ASSIGN_OR_RETURN(unbooked_,
                        DeviceBuffer::Allocate(kUnbookedBytes, MemoryCategory::kScratch, nullptr,
                                               "memory that is booked nowhere", kHint));
  }
  return context_->Wait("loading the model");
}

Status CudaBackend::PlanRoom(const GraphParams& params) {
  const CudaPlan plan = PlanOf(BuildGraph(params), true);
  FG_RETURN_IF_ERROR(MakeRoom(plan, params));
  return PrepareGemms(plan);
}

CudaPlan CudaBackend::PlanOf(const Graph& graph, bool fused) const {
  PlanOptions options;
  options.fused = fused;
  options.attention_many = cuda::AttentionManyServes(model_.shape.head_dim);
  options.weight_of = [&](const Node& node) -> PlannedWeight {
    const CudaWeight* weight = weights_.Find(node.weight);
    if (weight == nullptr) return {};  // Prepare has refused such a graph
    const WeightView& view = weight->view;
    return {view.type,
            ChooseCudaMatmulPath(context_->gates(), view.type, view.k, node.rows, Phase::kGraph),
            view.k};
  };
  return MakePlan(graph, options);
}

Status CudaBackend::Grow(DeviceBuffer* buffer, int64_t bytes, const char* what, bool zeroed) {
  if (static_cast<uint64_t>(bytes) <= buffer->bytes()) return Status::Ok();
  captured_->Clear();  // they hold the address that goes
  *buffer = DeviceBuffer();
  FG_ASSIGN_OR_RETURN(*buffer,
                      DeviceBuffer::Allocate(static_cast<uint64_t>(bytes), MemoryCategory::kScratch,
                                             context_->memory(), what, kHint));
  if (!zeroed) return Status::Ok();
  return context_->Check(cudaMemsetAsync(buffer->data(), 0, buffer->bytes(), context_->stream()),
                         what);
}

Status CudaBackend::GrowPinned(PinnedBuffer* buffer, int64_t bytes, const char* what) {
  if (static_cast<uint64_t>(bytes) <= buffer->bytes()) return Status::Ok();
  captured_->Clear();
  *buffer = PinnedBuffer();
  FG_ASSIGN_OR_RETURN(*buffer, PinnedBuffer::Allocate(static_cast<uint64_t>(bytes), what));
  return Status::Ok();
}

Status CudaBackend::GrowInputs(const CudaPlan& plan, const GraphParams& params) {
  room_.rows = std::max(room_.rows, params.rows);
  room_.wanted = std::max(room_.wanted, params.wanted);
  room_.logits_rows = std::max(room_.logits_rows, plan.logits_rows);
  const int64_t inputs = kInputArrays * room_.rows * static_cast<int64_t>(sizeof(int32_t));
  const int64_t ids = room_.wanted * static_cast<int64_t>(sizeof(int32_t));
  const int64_t logits =
      room_.logits_rows * model_.shape.vocabulary * static_cast<int64_t>(sizeof(float));
  FG_RETURN_IF_ERROR(Grow(&room_.inputs, inputs, "tokens and positions", false));
  FG_RETURN_IF_ERROR(GrowPinned(&room_.host_inputs, inputs, "tokens and positions"));
  FG_RETURN_IF_ERROR(Grow(&room_.ids, ids, "the highest ids", false));
  FG_RETURN_IF_ERROR(GrowPinned(&room_.host_ids, ids, "the highest ids"));
  FG_RETURN_IF_ERROR(Grow(&room_.logits, logits, "logits", false));
  FG_RETURN_IF_ERROR(GrowPinned(&room_.host_logits, logits, "logits"));
  FG_RETURN_IF_ERROR(
      Grow(&room_.argmax, cuda::ArgmaxScratch(room_.logits_rows), "the search for ids", true));
  const bool faulty =
      context_->Faulty(Fault::kRacingSum) || context_->Faulty(Fault::kDeviceOverrun);
  if (!faulty) return Status::Ok();
  return Grow(&room_.faults, std::max<int64_t>(room_.logits_rows, 1) * 4, "a planted fault", true);
}

// Takes what the forwards of `plan` need beyond what is there.
Status CudaBackend::MakeRoom(const CudaPlan& plan, const GraphParams& params) {
  FG_RETURN_IF_ERROR(GrowInputs(plan, params));
  FG_RETURN_IF_ERROR(Grow(&room_.pool, plan.pool_bytes, "the graph's pool", false));
  if (!plan.buckets) return Status::Ok();
  const ModelShape& shape = model_.shape;
  const int64_t scratch = cuda::AttentionFewScratch(params.rows, shape.heads, shape.kv_heads,
                                                    shape.head_dim, options_.context);
  return Grow(&room_.attention, scratch, "attention's sums", true);
}

Status CudaBackend::PrepareGemms(const CudaPlan& plan) {
  for (const CudaStep& step : plan.steps) {
    if (step.kind != StepKind::kGemm) continue;
    FG_RETURN_IF_ERROR(context_->cublaslt().Prepare(
        {step.f32 ? GemmType::kF32 : GemmType::kF16, step.rows, step.k, step.columns}));
  }
  return Status::Ok();
}

Result<const CudaWeight*> CudaBackend::FindWeight(const std::string& name) const {
  if (const CudaWeight* weight = weights_.Find(name)) return weight;
  return Status(ErrorKind::kInternal, "the graph names tensor '" + name + "', the model has none");
}

Result<std::unique_ptr<ExecutableGraph>> CudaBackend::Prepare(Graph graph) {
  FG_RETURN_IF_ERROR(context_->device_error());
  auto prepared = std::make_unique<CudaGraph>(std::move(graph), context_->memory());
  for (const Node& node : prepared->graph().nodes) {
    CudaGraph::NodeWeights found;
    if (!node.weight.empty()) {
      FG_ASSIGN_OR_RETURN(found.weight, FindWeight(node.weight));
    }
    if (!node.bias.empty()) {
      FG_ASSIGN_OR_RETURN(const CudaWeight* bias, FindWeight(node.bias));
      found.bias = static_cast<const float*>(bias->resident);
    }
    prepared->weights().push_back(found);
  }
  prepared->set_plan(PlanOf(prepared->graph(), true));
  FG_RETURN_IF_ERROR(MakeRoom(prepared->plan(), prepared->graph().params));
  FG_RETURN_IF_ERROR(PrepareGemms(prepared->plan()));
  prepared->Book();
  return std::unique_ptr<ExecutableGraph>(std::move(prepared));
}

Result<std::unique_ptr<KvCache>> CudaBackend::NewKvCache() {
  FG_RETURN_IF_ERROR(context_->device_error());
  const int64_t layer_values = options_.context * model_.shape.kv_width();
  const uint64_t bytes =
      2 * static_cast<uint64_t>(model_.shape.layers * layer_values) * sizeof(uint16_t);
  FG_ASSIGN_OR_RETURN(DeviceBuffer buffer,
                      DeviceBuffer::Allocate(bytes, MemoryCategory::kKv, context_->memory(),
                                             "a KV cache", "set a smaller --context"));
  FG_RETURN_IF_ERROR(context_->Check(
      cudaMemsetAsync(buffer.data(), options_.poison ? 0xFF : 0, bytes, context_->stream()),
      "a KV cache"));
  return std::unique_ptr<KvCache>(std::make_unique<CudaKvCache>(
      std::move(buffer), model_.shape.layers, layer_values, captured_));
}

std::optional<DeviceMemory> CudaBackend::device_memory() const {
  size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) {
    (void)cudaGetLastError();
    return std::nullopt;
  }
  return DeviceMemory{total, total - free, used_before_};
}

bool CudaBackend::TimeKernels(bool on) {
  context_->TimeKernels(on);
  return true;
}

}  // namespace fg
