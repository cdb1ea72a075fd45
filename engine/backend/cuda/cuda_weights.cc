#include "engine/backend/cuda/cuda_weights.h"

#include <algorithm>
#include <utility>

#include "engine/backend/cuda/cuda_weights_f16.h"
#include "engine/backend/cuda/cuda_weights_upload.h"
#include "kernels/cuda/resident_layout.h"

namespace fg {
namespace {

constexpr uint64_t kAlignment = 256;  // of each weight in its arena

// A weight with its places in the two arenas.
struct Placed {
  const ModelWeight* weight = nullptr;
  uint64_t resident = 0, end = 0;  // bytes from the arena's beginning
  bool cached = false;             // has an f16 cache of its own
  uint64_t f16 = 0, f16_end = 0;
};

struct Layout {
  std::vector<Placed> placed;
  uint64_t resident_bytes = 0, f16_bytes = 0;
  uint64_t largest = 0, largest_row = 0;  // of the weights as in the file
};

uint64_t Take(uint64_t bytes, uint64_t* arena) {
  const uint64_t place = *arena;
  *arena += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return place;
}

Result<Layout> Place(const Gates& gates, const ModelWeights& weights) {
  Layout layout;
  for (const ModelWeight& weight : weights.all()) {
    const WeightView& view = weight.view;
    const auto row = static_cast<uint64_t>(cuda::ResidentRowBytes(view.type, view.k));
    if (row == 0) {
      return Status(ErrorKind::kBadModel, "tensor '" + view.name + "': no CUDA kernels for type " +
                                              InfoOf(view.type).name);
    }
    Placed placed = {.weight = &weight};
    placed.resident = Take(row * view.out, &layout.resident_bytes);
    placed.end = layout.resident_bytes;
    placed.cached = weight.role == WeightRole::kW16 && NeedsF16Cache(gates, view);
    if (placed.cached) {
      placed.f16 = Take(uint64_t{2} * view.out * view.k, &layout.f16_bytes);
      placed.f16_end = layout.f16_bytes;
    }
    const auto in_file = static_cast<uint64_t>(RowBytes(view.type, view.k));
    layout.largest = std::max(layout.largest, in_file * view.out);
    layout.largest_row = std::max(layout.largest_row, in_file);
    layout.placed.push_back(placed);
  }
  return layout;
}

// What an arena is called where it does not fit: with the first tensor that finds no room.
std::string NameOf(const char* what, const Layout& layout, uint64_t Placed::*end) {
  size_t free = 0, total = 0;
  (void)cudaMemGetInfo(&free, &total);
  const Placed* first = nullptr;
  for (const Placed& placed : layout.placed) {
    if (first == nullptr && placed.*end > free) first = &placed;
  }
  if (first == nullptr) return what;
  return std::string(what) + " ('" + first->weight->view.name + "' is the first without room)";
}

constexpr Gate kFamily[] = {Gate::kMmq,           Gate::kMmqRaw,   Gate::kMmqRawNb,
                            Gate::kMmqATranspose, Gate::kMmqQ6kNb, Gate::kMmqAFuse,
                            Gate::kMmqQ6kExp,     Gate::kMmqQ4kDsc};
static_assert(std::size(kFamily) == kGates);

// The gates of the int8 family do nothing here: those that are ON are said to be OFF.
void Degrade(const Gates& gates, Ledger* ledger) {
  for (const Gate gate : kFamily) {
    const GateEntry& entry = EntryOf(gate);
    std::string value = "1";
    if (entry.is_mode()) {
      const int mode = gates.Mode(gate, Phase::kLoad);
      if (mode == 0) continue;
      value = entry.modes[static_cast<size_t>(mode)];
    } else if (!gates.On(gate, Phase::kLoad)) {
      continue;
    }
    const std::string name = entry.name;
    ledger->AddDegradation({name + "=" + value, name + "=0", "backend"});
  }
}

// Uploads all; `caches` are what is left to fill.
Status UploadAll(CudaContext& context, const Layout& layout, std::byte* resident, std::byte* f16,
                 std::map<std::string, CudaWeight>* weights, std::vector<F16CacheJob>* caches) {
  WeightUpload upload;
  FG_RETURN_IF_ERROR(upload.Start(&context, layout.largest, layout.largest_row));
  for (const Placed& placed : layout.placed) {
    CudaWeight weight = {.view = placed.weight->view, .role = placed.weight->role};
    weight.resident = resident + placed.resident;
    if (weight.view.type == TensorType::kF16) {
      weight.f16 = static_cast<const uint16_t*>(weight.resident);
    }
    if (placed.cached) {
      auto* cache = reinterpret_cast<uint16_t*>(f16 + placed.f16);
      caches->push_back({weight.view, weight.resident, cache});
      weight.f16 = cache;
    }
    FG_RETURN_IF_ERROR(upload.Upload(weight.view, resident + placed.resident));
    weights->emplace(weight.view.name, std::move(weight));
  }
  return context.Wait("the upload of weights");
}

}  // namespace

Status CudaWeights::Load(CudaContext& context, const ModelWeights& weights) {
  FG_ASSIGN_OR_RETURN(const Layout layout, Place(context.gates(), weights));
  Degrade(context.gates(), &context.ledger());
  FG_ASSIGN_OR_RETURN(
      DeviceBuffer resident,
      DeviceBuffer::Allocate(layout.resident_bytes, MemoryCategory::kWeights, context.memory(),
                             NameOf("the weights", layout, &Placed::end),
                             "choose a smaller model or one of fewer bits, or --device cpu"));
  FG_ASSIGN_OR_RETURN(
      DeviceBuffer f16,
      DeviceBuffer::Allocate(layout.f16_bytes, MemoryCategory::kF16Cache, context.memory(),
                             NameOf("the f16 cache", layout, &Placed::f16_end),
                             "set FG_PREFILL_GEMM=0 to do without it (a slow prefill), or choose a "
                             "smaller model"));
  std::map<std::string, CudaWeight> uploaded;
  std::vector<F16CacheJob> caches;
  FG_RETURN_IF_ERROR(UploadAll(context, layout, resident.as<std::byte>(), f16.as<std::byte>(),
                               &uploaded, &caches));
  FG_RETURN_IF_ERROR(BuildF16Caches(context, caches));
  weights_ = std::move(uploaded);
  buffers_.push_back(std::move(resident));
  buffers_.push_back(std::move(f16));
  return Status::Ok();
}

const CudaWeight* CudaWeights::Find(const std::string& name) const {
  const auto found = weights_.find(name);
  return found == weights_.end() ? nullptr : &found->second;
}

}  // namespace fg
