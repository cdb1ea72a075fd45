#include "engine/backend/cpu/weight_registration.h"

#include <algorithm>
#include <utility>

#include "engine/backend/cpu/f16_cache.h"
#include "kernels/cpu/weight_planes.h"

namespace fg {
namespace {

uint64_t WeightPlaneBytes(const WeightView& view, WeightPlane plane) {
  return plane == WeightPlane::kScales ? ScalePlaneBytes(view.k, view.out)
                                       : ExpandedPlaneBytes(view.k, view.out);
}

const char* GateOf(WeightPlane plane) {
  return EntryOf(plane == WeightPlane::kScales ? Gate::kMmqQ4kDsc : Gate::kMmqQ6kExp).name;
}

}  // namespace

HostBuffer WeightRegistrar::TakePlane(const WeightView& view, WeightPlane plane) {
  const uint64_t bytes = WeightPlaneBytes(view, plane);
  const auto& limit_mib = context_->gates().settings().plane_limit_mib;
  const bool allowed = !limit_mib || bytes_ + bytes <= static_cast<uint64_t>(*limit_mib) << 20;
  if (allowed) {
    auto buffer = HostBuffer::AllocateExact(bytes, MemoryCategory::kPlanes, context_->memory(),
                                            "a plane of '" + view.name + "'");
    if (buffer.ok()) return std::move(buffer).value();
  }
  const std::string gate = GateOf(plane);
  context_->ledger().AddDegradation({gate + "=1", gate + "=0", "memory"});
  return {};
}

void WeightRegistrar::BuildPlane(const WeightView& view, WeightPlane plane,
                                 RegisteredWeight* registered) {
  registered->plane = TakePlane(view, plane);
  void* data = registered->plane.data();
  if (data == nullptr) return;
  const Faults& faults = context_->gates().faults();
  // Outputs of a cache line of pairs each: threads share no line.
  context_->Parallel(Phase::kLoad, view.out, GrainFor(view.k, 8), [&](Range outs, int) {
    if (plane == WeightPlane::kScales) {
      BuildScalePlane(
          view.data, view.k, view.out, outs, static_cast<ScalePair*>(data),
          faults.Active(Fault::kScalesRounded) ? KernelFault::kRoundedScales : KernelFault::kNone);
    } else {
      BuildExpandedPlane(view.data, view.k, outs, static_cast<ExpandedChunkQ6_K*>(data),
                         faults.Active(Fault::kQ6kScalesSwapped) ? KernelFault::kSwapHalfScales
                                                                 : KernelFault::kNone);
    }
  });
  if (plane == WeightPlane::kScales) registered->weight.scales = static_cast<ScalePair*>(data);
  if (plane == WeightPlane::kExpanded) {
    registered->weight.expanded = static_cast<ExpandedChunkQ6_K*>(data);
  }
  Count(view, plane, WeightPlaneBytes(view, plane));
}

void WeightRegistrar::Count(const WeightView& view, WeightPlane plane, uint64_t bytes) {
  bytes_ += bytes;
  const std::string name = WeightPlaneName(plane);
  auto entry = std::find_if(planes_.begin(), planes_.end(),
                            [&](const PlaneCount& count) { return count.plane == name; });
  if (entry == planes_.end()) {
    planes_.push_back({name, InfoOf(view.type).name, GateOf(plane), 0, 0});
    entry = planes_.end() - 1;
  }
  ++entry->weights;
  entry->bytes += bytes;
}

Result<RegisteredWeight> WeightRegistrar::Register(const WeightView& view, int64_t rows) {
  RegisteredWeight registered;
  registered.weight.view = view;
  const MatmulChoice choice =
      ChooseMatmulPath(context_->gates(), view.type, view.k, rows, Phase::kLoad);
  registered.wide_path = choice.path;
  const bool leak = context_->Faulty(Fault::kCacheLeaked);
  if (InfoOf(view.type).quantized && (choice.path == MatmulPath::kGemmF16 || leak)) {
    FG_ASSIGN_OR_RETURN(registered.f16, BuildF16Cache(*context_, view));
    registered.weight.f16 = registered.f16.as<uint16_t>();
  }
  if (choice.plane != WeightPlane::kNone) BuildPlane(view, choice.plane, &registered);
  return registered;
}

}  // namespace fg
