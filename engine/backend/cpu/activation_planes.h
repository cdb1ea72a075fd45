// Activations of matmuls in the form that a path multiplies, made once and shared by the matmuls
// that stand next to each other (q, k, v; gate, up). docs/arithmetic.md "The plane cache".
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "engine/backend/cpu/host_buffer.h"
#include "engine/memory_book.h"
#include "kernels/formats/blocks.h"
#include "kernels/formats/planes.h"

namespace fg {

enum class PlaneLayout {
  kRows,   // ActivationChunk [rows][k/32]
  kTiles,  // ActivationTile [TileCount(rows)][k/32], transposed
  kF16,    // uint16_t [rows][k], int32_t exponents [rows] behind
};
constexpr int kPlaneLayouts = 3;
const char* PlaneLayoutName(PlaneLayout layout);  // "rows", "tiles", "f16": as in the labels
uint64_t PlaneBytes(PlaneLayout layout, int64_t rows, int64_t k);  // k a multiple of 32

// What a plane is made of: values [rows][k], written by the graph's node `node`.
struct PlaneSource {
  static constexpr int kNoNode = -1;  // an operation by itself
  const float* values = nullptr;
  int64_t rows = 0, k = 0;
  int node = kNoNode;
};

// One plane a layout, each of the last source it was made from; outside the graph's pool. A plane
// is valid only across consecutive matmul nodes: whoever runs anything else clears them, because
// the source's memory may then hold other values under the same address. That promise is checked: a
// plane bears a stamp of the node it was made for, behind its values, and a hit for another node,
// or on memory whose stamp is not the recorded one, is refused. So is any use of a buffer that a
// skip-write producer left unwritten, but for the plane that it made.
class ActivationPlanes {
 public:
  explicit ActivationPlanes(MemoryBook* memory) : memory_(memory) {}

  // Room for `rows` rows of `k` values. Grows only; a plane that moves is cleared. kOutOfMemory.
  Status Reserve(PlaneLayout layout, int64_t rows, int64_t k);

  ActivationChunk* rows() { return Data<ActivationChunk>(PlaneLayout::kRows); }
  ActivationTile* tiles() { return Data<ActivationTile>(PlaneLayout::kTiles); }
  uint16_t* f16() { return Data<uint16_t>(PlaneLayout::kF16); }
  // Of an f16 plane of `rows` rows of `k` values: behind them.
  int32_t* exponents(int64_t rows, int64_t k) {
    return reinterpret_cast<int32_t*>(f16() + rows * k);
  }

  // Whether the plane of this layout is that of `source`. Where it is not, the caller makes it and
  // says so by Record. kRefused: a stale plane, or a source that nobody wrote.
  Result<bool> Holds(PlaneLayout layout, const PlaneSource& source);
  // kRefused for a source that nobody wrote: for whoever reads it without a plane.
  Status CheckWritten(const PlaneSource& source) const;
  // The plane of this layout is now that of `source`. dead_write: its values were not written.
  void Record(PlaneLayout layout, const PlaneSource& source, bool dead_write = false);

  void Clear();

  // Planted: kStalePlaneHit, kDeadWriteRead.
  void SkipChecks(bool stale, bool dead) {
    stale_goes_unseen_ = stale;
    dead_goes_unseen_ = dead;
  }
  // Whether a stale plane or a dead buffer was asked for, refused or not, since ForgetBreach.
  bool breached() const { return breached_; }
  void ForgetBreach() { breached_ = false; }
  bool IsDead(const PlaneSource& source) const {
    return dead_.values != nullptr && dead_.values == source.values;
  }

 private:
  // Stands behind the values, in the plane's own memory.
  struct Stamp {
    uint64_t serial;
    int64_t rows, k;
    int64_t node;
    const void* plane;
  };
  struct Plane {
    HostBuffer buffer;
    uint64_t value_bytes = 0;  // where the stamp stands
    PlaneSource source;        // values null: none
    Stamp stamp = {};          // as recorded
  };
  template <typename T>
  T* Data(PlaneLayout layout) {
    return planes_[static_cast<size_t>(layout)].buffer.as<T>();
  }
  bool StampIs(const Plane& plane) const;
  Status CheckHit(PlaneLayout layout, const PlaneSource& source);

  MemoryBook* memory_;
  std::array<Plane, kPlaneLayouts> planes_;
  PlaneSource dead_;  // what a skip-write producer left unwritten; values null: nothing
  uint64_t serial_ = 0;
  bool stale_goes_unseen_ = false, dead_goes_unseen_ = false;
  mutable bool breached_ = false;
};

}  // namespace fg
