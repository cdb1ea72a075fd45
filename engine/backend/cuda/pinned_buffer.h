#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/status.h"

namespace fg {

// Host memory that the device copies from and to by itself (cudaHostAlloc). Move-only. Not booked:
// the ledger's figures stand beside the device's, and this is the host's.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  // kOutOfMemory: "WHAT: cannot pin N bytes of host memory (REASON)". 0 bytes: a buffer without
  // memory.
  static Result<PinnedBuffer> Allocate(uint64_t bytes, const std::string& what);
  PinnedBuffer(PinnedBuffer&& other) noexcept { *this = std::move(other); }
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;
  ~PinnedBuffer();

  void* data() const { return data_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  uint64_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace fg
