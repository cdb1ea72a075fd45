// Model files of real models' shapes with seeded random weights: what `fg-engine synth` writes.
// docs/gguf.md "Synthetic models".
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace fg {

// "qwen2.5-0.5b", "qwen2.5-1.5b", "qwen2.5-7b", "narrow".
std::vector<std::string> SynthShapes();

struct SynthOptions {
  std::string shape, mix;
  int64_t layers = 0;  // 0: the shape's own; else 1 to 1024
  uint64_t seed = 1;
};

struct SynthSummary {
  int64_t layers = 0, parameters = 0;
  uint64_t output_bytes = 0;
  std::vector<std::pair<std::string, int>> tensors_per_type;  // ("q4_K", 33), by type id
  std::vector<std::string> fallbacks;                         // as QuantizeSummary
};

// Writes OUTPUT atomically, as it goes: memory does not grow with the model. The same options give
// the same bytes, whatever the number of threads. `progress` (may be empty) is told bytes written
// and bytes in all. kUsage for a shape or mix that is not known (nearest name) or a number of
// layers out of range; kIo for OUTPUT, also when the file system has no room for it (nothing is
// written then).
Result<SynthSummary> SynthFile(const std::string& output, const SynthOptions& options,
                               const std::function<void(uint64_t, uint64_t)>& progress);

// kIo where the file system of OUTPUT's folder has less than `bytes` left.
Status CheckRoomFor(const std::string& output, uint64_t bytes);

}  // namespace fg
