#include "engine/backend/cpu/activation_planes.h"

#include <cstring>

namespace fg {
namespace {

std::string NodeText(int64_t node) {
  return node < 0 ? "another source" : "node " + std::to_string(node);
}

}  // namespace

const char* PlaneLayoutName(PlaneLayout layout) {
  switch (layout) {
    case PlaneLayout::kRows:
      return "rows";
    case PlaneLayout::kTiles:
      return "tiles";
    case PlaneLayout::kF16:
      return "f16";
  }
  return "?";
}

uint64_t PlaneBytes(PlaneLayout layout, int64_t rows, int64_t k) {
  const uint64_t count = static_cast<uint64_t>(rows);
  switch (layout) {
    case PlaneLayout::kRows:
      return count * static_cast<uint64_t>(k / kBlock32) * sizeof(ActivationChunk);
    case PlaneLayout::kTiles:
      return TilePlaneBytes(rows, k);
    case PlaneLayout::kF16:
      return count * (static_cast<uint64_t>(k) * sizeof(uint16_t) + sizeof(int32_t));
  }
  return 0;
}

Status ActivationPlanes::Reserve(PlaneLayout layout, int64_t rows, int64_t k) {
  Plane& plane = planes_[static_cast<size_t>(layout)];
  // A multiple of the stamp's alignment.
  const uint64_t bytes = (PlaneBytes(layout, rows, k) + 63) / 64 * 64;
  if (bytes == 0 || bytes <= plane.value_bytes) return Status::Ok();
  Clear();
  plane.buffer = HostBuffer();  // the old one first: never both at once
  plane.value_bytes = 0;
  FG_ASSIGN_OR_RETURN(
      plane.buffer,
      HostBuffer::Allocate(bytes + sizeof(Stamp), MemoryCategory::kScratch, memory_,
                           std::string("the activation plane '") + PlaneLayoutName(layout) + "'"));
  plane.value_bytes = bytes;
  return Status::Ok();
}

bool ActivationPlanes::StampIs(const Plane& plane) const {
  const std::byte* at = plane.buffer.as<std::byte>() + plane.value_bytes;
  return plane.stamp.plane == plane.buffer.data() &&
         std::memcmp(at, &plane.stamp, sizeof(Stamp)) == 0;
}

Status ActivationPlanes::CheckHit(PlaneLayout layout, const PlaneSource& source) {
  const Plane& plane = planes_[static_cast<size_t>(layout)];
  if (plane.source.node == source.node && StampIs(plane)) return Status::Ok();
  breached_ = true;
  if (stale_goes_unseen_) return Status::Ok();
  return Status(ErrorKind::kRefused, std::string("the plane '") + PlaneLayoutName(layout) +
                                         "' at hand is that of " + NodeText(plane.source.node) +
                                         ", asked for is that of " + NodeText(source.node) +
                                         " at the same address: a stale plane");
}

Status ActivationPlanes::CheckWritten(const PlaneSource& source) const {
  if (!IsDead(source)) return Status::Ok();
  breached_ = true;
  if (dead_goes_unseen_) return Status::Ok();
  return Status(ErrorKind::kRefused, "the output of " + NodeText(dead_.node) +
                                         " is asked for, which FG_MMQ_A_FUSE=2 left unwritten: a "
                                         "dead write");
}

Result<bool> ActivationPlanes::Holds(PlaneLayout layout, const PlaneSource& source) {
  const Plane& plane = planes_[static_cast<size_t>(layout)];
  if (plane.source.values != nullptr && plane.source.values == source.values &&
      plane.source.rows == source.rows && plane.source.k == source.k) {
    FG_RETURN_IF_ERROR(CheckHit(layout, source));
    return true;
  }
  FG_RETURN_IF_ERROR(CheckWritten(source));
  return false;
}

void ActivationPlanes::Record(PlaneLayout layout, const PlaneSource& source, bool dead_write) {
  Plane& plane = planes_[static_cast<size_t>(layout)];
  plane.source = source;
  plane.stamp = {++serial_, source.rows, source.k, source.node, plane.buffer.data()};
  std::memcpy(plane.buffer.as<std::byte>() + plane.value_bytes, &plane.stamp, sizeof(Stamp));
  if (dead_write) dead_ = source;
}

void ActivationPlanes::Clear() {
  for (Plane& plane : planes_) plane.source = {};
  dead_ = {};
}

}  // namespace fg
