#include "engine/backend/cuda/out_of_memory.h"

namespace fg {

std::string OutOfDeviceMemoryText(const std::string& what, uint64_t bytes, uint64_t free,
                                  uint64_t total, const std::string& hint) {
  const uint64_t wanted = (bytes >> 20) + ((bytes & 0xFFFFF) != 0 ? 1 : 0);
  return what + ": " + std::to_string(wanted) + " MiB of device memory do not fit, " +
         std::to_string(free >> 20) + " MiB of " + std::to_string(total >> 20) + " MiB are free; " +
         hint;
}

}  // namespace fg
