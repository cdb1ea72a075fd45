#pragma once

#include <cstdint>
#include <utility>

#include "engine/backend/backend.h"
#include "engine/backend/cpu/host_buffer.h"

namespace fg {

class CpuKvCache : public KvCache {
 public:
  // `buffer` holds the keys of all layers, then the values; layer_values = context * kv_width.
  CpuKvCache(HostBuffer buffer, int64_t layers, int64_t layer_values)
      : buffer_(std::move(buffer)), layers_(layers), layer_values_(layer_values) {}

  uint16_t* keys(int64_t layer) { return buffer_.as<uint16_t>() + layer * layer_values_; }
  uint16_t* values(int64_t layer) { return keys(layers_ + layer); }

 private:
  HostBuffer buffer_;
  int64_t layers_, layer_values_;
};

}  // namespace fg
