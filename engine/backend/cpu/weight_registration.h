// What is built of a matmul weight when it is registered: its f16 cache, or the plane that its path
// reads. docs/arithmetic.md "16 rows".
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "engine/backend/backend.h"
#include "engine/backend/cpu/cpu_context.h"
#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/host_buffer.h"
#include "engine/backend/cpu/matmul_path.h"
#include "engine/model/weight_view.h"

namespace fg {

// A weight with what it owns. Move-only.
struct RegisteredWeight {
  CpuWeight weight;  // points into the buffers
  HostBuffer f16, plane;
  MatmulPath wide_path = MatmulPath::kRows;  // of a forward of 16 rows or more
};

class WeightRegistrar {
 public:
  // `context` outlives it.
  explicit WeightRegistrar(CpuContext* context) : context_(context) {}

  // For a weight that forwards of `rows` rows multiply; reads gates, in phase load, for 16 or more.
  // A plane that does not fit, or lies beyond FG_PLANE_LIMIT_MIB together with those before it, is
  // left out: its gate is booked as degraded, reason `memory`. Planes are booked to the byte that
  // their formula gives. kBadModel names a value beyond f16; kOutOfMemory for an f16 cache.
  Result<RegisteredWeight> Register(const WeightView& view, int64_t rows);

  // One entry a kind of plane that was built.
  const std::vector<PlaneCount>& planes() const { return planes_; }

 private:
  // A buffer without memory where the plane does not fit.
  HostBuffer TakePlane(const WeightView& view, WeightPlane plane);
  void BuildPlane(const WeightView& view, WeightPlane plane, RegisteredWeight* registered);
  void Count(const WeightView& view, WeightPlane plane, uint64_t bytes);

  CpuContext* context_;
  std::vector<PlaneCount> planes_;
  uint64_t bytes_ = 0;  // of all planes
};

}  // namespace fg
