#pragma once

#include <array>
#include <cstdint>

#include "engine/backend/cuda/cuda_context.h"
#include "engine/backend/cuda/device_buffer.h"
#include "engine/backend/cuda/pinned_buffer.h"
#include "engine/model/weight_view.h"

namespace fg {

// Brings weights from the file's mapping to the resident layout: threads copy the next piece into
// one of two pinned buffers while the device takes the other.
class WeightUpload {
 public:
  // `context` outlives it. `largest` is the most bytes of a weight's file form, `largest_row` of a
  // row. kOutOfMemory; kDevice.
  Status Start(CudaContext* context, uint64_t largest, uint64_t largest_row);
  // resident[out][ResidentRowBytes(type, k)] of `view`, in the order of the context's stream; the
  // view's data is read during the call alone. `resident` is 16-byte aligned.
  Status Upload(const WeightView& view, void* resident);
  ~WeightUpload();
  WeightUpload() = default;
  WeightUpload(const WeightUpload&) = delete;
  WeightUpload& operator=(const WeightUpload&) = delete;

 private:
  struct Slot {
    PinnedBuffer pinned;
    cudaEvent_t taken = nullptr;  // the device has read `pinned`
  };
  // Copies `bytes` from host memory at `from` through the next slot to `to` on the device.
  Status CopyPiece(const std::byte* from, uint64_t bytes, void* to);

  CudaContext* context_ = nullptr;
  std::array<Slot, 2> slots_;
  size_t next_ = 0;
  uint64_t piece_bytes_ = 0;
  DeviceBuffer staging_;  // rows as in the file, before they are gathered
};

}  // namespace fg
