// Steps that the device took down as CUDA graphs, kept by their keys. docs/cuda.md "Captured
// steps".
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/backend/cuda/cuda_step_key.h"
#include "engine/memory_book.h"

namespace fg {

// What a step counts in the ledger each time it runs.
struct StepCounts {
  std::map<std::pair<std::string, std::string>, uint64_t> labels;  // (op, label)
  uint64_t launches = 0;
};

// One taken-down step. Booked (kGraph) while alive.
class CapturedStep {
 public:
  // Bytes that a node is booked with, device and driver together. The driver does not say what a
  // graph takes; this is the order of what cudaMemGetInfo shows for graphs of a few hundred nodes.
  static constexpr uint64_t kBytesANode = 2048;

  CapturedStep() = default;
  CapturedStep(const CapturedStep&) = delete;
  CapturedStep& operator=(const CapturedStep&) = delete;
  ~CapturedStep();

  bool captured() const { return exec_ != nullptr; }
  cudaGraphExec_t exec() const { return exec_; }

  // Takes down what `steps` starts on `stream`, which must be idle. Whatever fails leaves the
  // stream as it was and the step not captured; kDevice says what failed and is not final.
  Status Capture(cudaStream_t stream, MemoryBook* memory, const std::function<Status()>& steps);

  uint64_t runs = 0;               // of this key, however they ran
  bool failed = false;             // it could not be captured
  StepCounts counts;               // of the captured step
  std::vector<int32_t> positions;  // planted: Fault::kStaleReplay

 private:
  cudaGraphExec_t exec_ = nullptr;
  MemoryBook* memory_ = nullptr;
  uint64_t booked_ = 0;
};

constexpr size_t kMostCapturedSteps = 32;
using CapturedSteps = RecentSteps<CapturedStep>;

}  // namespace fg
