#include "engine/backend/cpu/cpu_backend.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/backend/cpu/cpu_graph.h"
#include "engine/backend/cpu/cpu_kv_cache.h"
#include "engine/backend/cpu/fuse_mode.h"

namespace fg {
namespace {

constexpr size_t kUnbookedBytes = size_t{64} << 20;

bool IsMatmulWeight(const ModelWeight& weight) { return weight.role != WeightRole::kVector; }

// The plane that a path reads; nothing for one that takes the f32 rows.
std::optional<PlaneLayout> LayoutOf(MatmulPath path, TensorType type) {
  switch (path) {
    case MatmulPath::kRows:
      return InfoOf(type).quantized ? std::make_optional(PlaneLayout::kRows) : std::nullopt;
    case MatmulPath::kGemmF16:
    case MatmulPath::kGemmBF16:
      return PlaneLayout::kF16;
    case MatmulPath::kGemmF32:
      return std::nullopt;
    case MatmulPath::kMmqGeneric:
    case MatmulPath::kMmqRaw:
    case MatmulPath::kMmqNibble:
      return PlaneLayout::kRows;
    case MatmulPath::kMmqTiles:
      return PlaneLayout::kTiles;
  }
  return std::nullopt;
}

}  // namespace

// Whether the nibble family serves every weight that a forward of 16 rows or more multiplies.
bool CpuBackend::NibbleFamilyOnly(const ModelWeights& weights) const {
  const bool blind = context_.gates().faults().Active(Fault::kWeightMixBlindToF16);
  for (const ModelWeight& weight : weights.all()) {
    if (weight.role != WeightRole::kW16) continue;
    const TensorType type = weight.view.type;
    if (type == TensorType::kQ4_K || type == TensorType::kQ6_K) continue;
    if (!(blind && type == TensorType::kF16)) return false;
  }
  return true;
}

Status CpuBackend::RegisterWeights(const ModelWeights& weights) {
  WeightRegistrar registrar(&context_);
  for (const ModelWeight& weight : weights.all()) {
    RegisteredWeight& registered = weights_[weight.view.name];
    registered.weight.view = weight.view;
    if (!IsMatmulWeight(weight)) continue;
    FG_RETURN_IF_ERROR(CheckMatmulWeight(weight.view));
    const bool in_tail = weight.role == WeightRole::kTail && context_.Faulty(Fault::kPlaneForTail);
    if (weight.role != WeightRole::kW16 && !in_tail) continue;
    FG_ASSIGN_OR_RETURN(registered, registrar.Register(weight.view, kPrefillRows));
  }
  report_.planes = registrar.planes();
  report_.nibble_family_only = NibbleFamilyOnly(weights);
  return Status::Ok();
}

void CpuBackend::DecideFuseMode() {
  const FuseMode fuse =
      ResolveFuseMode(GatherFuseFacts(context_.gates(), model_.shape, report_.nibble_family_only));
  report_.fuse_asked = fuse.asked;
  report_.fuse_mode = fuse.mode;
  for (const Degradation& entry : fuse.degradations) context_.ledger().AddDegradation(entry);
}

// For the largest batch, and for the few rows of the one-row kernels.
Status CpuBackend::ReservePlanes(const ModelWeights& weights) {
  ActivationPlanes& planes = context_.planes();
  const int64_t few = std::min<int64_t>(options_.batch, kTailRows);
  for (const ModelWeight& weight : weights.all()) {
    if (!IsMatmulWeight(weight)) continue;
    const WeightView& view = weight.view;
    if (InfoOf(view.type).quantized) {
      FG_RETURN_IF_ERROR(planes.Reserve(PlaneLayout::kRows, few, view.k));
    }
    if (weight.role != WeightRole::kW16 || options_.batch < kPrefillRows) continue;
    const auto layout = LayoutOf(weights_[view.name].wide_path, view.type);
    if (layout) FG_RETURN_IF_ERROR(planes.Reserve(*layout, options_.batch, view.k));
  }
  if (report_.fuse_mode == 0 || options_.batch < kPrefillRows) return Status::Ok();
  const int64_t widest = std::max(model_.shape.width, model_.shape.ffn);
  return planes.Reserve(PlaneLayout::kTiles, options_.batch, widest);
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
  DecideFuseMode();
  FG_RETURN_IF_ERROR(ReservePlanes(weights));
  FG_RETURN_IF_ERROR(context_.ReserveScores(AttentionScratch(options.context)));
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
  if (found != weights_.end()) return &found->second.weight;
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

}  // namespace fg
