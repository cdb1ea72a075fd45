#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/status.h"
#include "engine/memory_book.h"

namespace fg {

// Device memory by cudaMalloc, booked while alive. Move-only. 256-byte aligned.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  // kOutOfMemory: "WHAT: N MiB of device memory do not fit, M MiB of T MiB are free; HINT". `what`
  // names the tensor or buffer; `hint` says what to set (a smaller --context, --batch, ...).
  // kDevice for any other failure. 0 bytes: a buffer without memory. `book` may be null: not
  // booked.
  static Result<DeviceBuffer> Allocate(uint64_t bytes, MemoryCategory category, MemoryBook* book,
                                       const std::string& what, const std::string& hint);
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer();

  void* data() const { return data_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  uint64_t bytes() const { return bytes_; }

 private:
  void Release();

  void* data_ = nullptr;
  uint64_t bytes_ = 0;
  MemoryCategory category_ = MemoryCategory::kScratch;
  MemoryBook* book_ = nullptr;
};

}  // namespace fg
