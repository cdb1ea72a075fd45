#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fg {

// Planes of weights that were built at load, one entry a kind.
struct PlaneCount {
  std::string plane;  // "scales", "expanded"
  std::string type;   // of the weights
  std::string gate;
  int weights = 0;
  uint64_t bytes = 0;
  bool operator==(const PlaneCount&) const = default;
};

// What was decided when the weights were registered.
struct LoadReport {
  std::vector<PlaneCount> planes;
  bool nibble_family_only = false;    // the weight-mix flag
  int fuse_asked = 0, fuse_mode = 0;  // of FG_MMQ_A_FUSE
};

}  // namespace fg
