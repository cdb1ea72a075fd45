#pragma once

#include <cstdint>
#include <string>

namespace fg {

// "WHAT: N MiB of device memory do not fit, M MiB of T MiB are free; HINT". Sizes are rounded so
// that a request never looks smaller than what is free: up for N, down for M and T.
std::string OutOfDeviceMemoryText(const std::string& what, uint64_t bytes, uint64_t free,
                                  uint64_t total, const std::string& hint);

}  // namespace fg
