#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/cuda/cuda_context.h"
#include "engine/model/weight_view.h"

namespace fg {

// A resident weight and where its f16 cache comes to lie.
struct F16CacheJob {
  WeightView view;  // its data is the file's form, in host memory
  const void* resident = nullptr;
  uint16_t* f16 = nullptr;  // [out][k]
};

// Whether a forward of 16 rows or more reads an f16 cache of such a weight; f16 is its own.
bool NeedsF16Cache(const Gates& gates, const WeightView& view);

// Fills the caches and waits for them. kBadModel names the first value that f16 cannot hold, in the
// words of the CPU's (engine/backend/cpu/f16_cache.cc).
Status BuildF16Caches(CudaContext& context, const std::vector<F16CacheJob>& jobs);

}  // namespace fg
