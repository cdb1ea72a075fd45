// Keys and values of one session on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "engine/backend/backend.h"
#include "engine/backend/cuda/cuda_capture.h"
#include "engine/backend/cuda/device_buffer.h"

namespace fg {

class CudaKvCache : public KvCache {
 public:
  // `buffer` holds the keys of all layers, then the values; layer_values = context * kv_width.
  // Steps of `captured` that hold this cache's address go when the cache goes.
  CudaKvCache(DeviceBuffer buffer, int64_t layers, int64_t layer_values,
              std::weak_ptr<CapturedSteps> captured)
      : buffer_(std::move(buffer)),
        layers_(layers),
        layer_values_(layer_values),
        captured_(std::move(captured)) {}
  ~CudaKvCache() override;

  const void* address() const { return buffer_.data(); }
  uint16_t* keys(int64_t layer) { return buffer_.as<uint16_t>() + layer * layer_values_; }
  uint16_t* values(int64_t layer) { return keys(layers_ + layer); }

 private:
  DeviceBuffer buffer_;
  int64_t layers_, layer_values_;
  std::weak_ptr<CapturedSteps> captured_;
};

}  // namespace fg
