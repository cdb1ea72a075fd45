#include "engine/backend/cuda/cuda_step_key.h"

#include <algorithm>

namespace fg {

bool StepKey::Holds(const void* address) const {
  return std::find(addresses.begin(), addresses.end(), address) != addresses.end();
}

}  // namespace fg
