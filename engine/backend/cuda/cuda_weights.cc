#include "engine/backend/cuda/cuda_weights.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/backend/cuda/cuda_weights_upload.h"
#include "kernels/cuda/resident.h"
#include "kernels/formats/dequantize.h"

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
  int cached = 0;
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
    placed.cached = weight.role == WeightRole::kW16 && view.type != TensorType::kF16 &&
                    ChooseCudaMatmulPath(gates, view.type, view.k, kPrefillRows, Phase::kLoad) ==
                        CudaMatmulPath::kGemmF16;
    if (placed.cached) {
      placed.f16 = Take(uint64_t{2} * view.out * view.k, &layout.f16_bytes);
      placed.f16_end = layout.f16_bytes;
      ++layout.cached;
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

// The text of engine/backend/cpu/f16_cache.cc.
Status Refuse(const WeightView& view, uint64_t index) {
  const auto row = static_cast<int64_t>(index / view.k),
             column = static_cast<int64_t>(index % view.k);
  std::vector<float> values(view.k);
  DequantizeRow(view.type,
                static_cast<const std::byte*>(view.data) + row * RowBytes(view.type, view.k),
                view.k, values.data());
  return Status(ErrorKind::kBadModel,
                "tensor '" + view.name + "': value " + std::to_string(values[column]) + " at row " +
                    std::to_string(row) + ", column " + std::to_string(column) +
                    " does not fit the f16 cache; keep this tensor in f32");
}

constexpr auto kNoneBeyond = static_cast<unsigned long long>(std::numeric_limits<int64_t>::max());

// Dequantizes the cached weights and looks for values that f16 cannot hold.
Status BuildCaches(CudaContext& context, const Layout& layout,
                   const std::map<std::string, CudaWeight>& weights) {
  if (layout.cached == 0) return Status::Ok();
  std::vector<unsigned long long> beyond(static_cast<size_t>(layout.cached), kNoneBeyond);
  const uint64_t bytes = beyond.size() * sizeof(beyond[0]);
  FG_ASSIGN_OR_RETURN(
      DeviceBuffer flags,
      DeviceBuffer::Allocate(bytes, MemoryCategory::kScratch, context.memory(),
                             "the check of the f16 cache", "choose a smaller model"));
  FG_RETURN_IF_ERROR(context.Check(
      cudaMemcpyAsync(flags.data(), beyond.data(), bytes, cudaMemcpyHostToDevice, context.stream()),
      "the check of the f16 cache"));
  auto* flag = flags.as<unsigned long long>();
  for (const Placed& placed : layout.placed) {
    if (!placed.cached) continue;
    const WeightView& view = placed.weight->view;
    const CudaWeight& weight = weights.at(view.name);
    FG_RETURN_IF_ERROR(context.Run(Phase::kLoad, "load.f16", [&] {
      return cuda::DequantizeToF16(view.type, weight.resident, view.out, view.k,
                                   const_cast<uint16_t*>(weight.f16), flag, context.stream());
    }));
    ++flag;
  }
  FG_RETURN_IF_ERROR(context.Check(
      cudaMemcpyAsync(beyond.data(), flags.data(), bytes, cudaMemcpyDeviceToHost, context.stream()),
      "the check of the f16 cache"));
  FG_RETURN_IF_ERROR(context.Wait("the f16 cache"));
  size_t next = 0;
  for (const Placed& placed : layout.placed) {
    if (!placed.cached) continue;
    const unsigned long long index = beyond[next++];
    if (index != kNoneBeyond) return Refuse(placed.weight->view, index);
  }
  return Status::Ok();
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
  {
    WeightUpload upload;
    FG_RETURN_IF_ERROR(upload.Start(&context, layout.largest, layout.largest_row));
    for (const Placed& placed : layout.placed) {
      CudaWeight weight = {.view = placed.weight->view, .role = placed.weight->role};
      weight.resident = resident.as<std::byte>() + placed.resident;
      if (placed.cached) weight.f16 = reinterpret_cast<uint16_t*>(f16.as<std::byte>() + placed.f16);
      if (weight.view.type == TensorType::kF16) {
        weight.f16 = static_cast<const uint16_t*>(weight.resident);
      }
      FG_RETURN_IF_ERROR(upload.Upload(weight.view, resident.as<std::byte>() + placed.resident));
      weights_.emplace(weight.view.name, std::move(weight));
    }
  }
  FG_RETURN_IF_ERROR(context.Wait("the upload of weights"));
  FG_RETURN_IF_ERROR(BuildCaches(context, layout, weights_));
  buffers_.push_back(std::move(resident));
  buffers_.push_back(std::move(f16));
  return Status::Ok();
}

const CudaWeight* CudaWeights::Find(const std::string& name) const {
  const auto found = weights_.find(name);
  return found == weights_.end() ? nullptr : &found->second;
}

}  // namespace fg
