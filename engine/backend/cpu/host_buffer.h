// Anonymous memory that is booked as long as it is held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "engine/memory_book.h"

namespace fg {

// Move-only. Every page is touched when it is taken, so that what is booked is what the system
// reports, and filled with 0xFF: as f32 a NaN, so a value that nobody wrote shows.
class HostBuffer {
 public:
  // Booked in `category` of `memory` (which outlives the buffer), rounded up to whole pages.
  // kOutOfMemory: "cannot take N bytes for WHAT".
  static Result<HostBuffer> Allocate(uint64_t bytes, MemoryCategory category, MemoryBook* memory,
                                     const std::string& what);
  // The same, booked to the byte: for what is held against a formula.
  static Result<HostBuffer> AllocateExact(uint64_t bytes, MemoryCategory category,
                                          MemoryBook* memory, const std::string& what);
  HostBuffer() = default;
  HostBuffer(HostBuffer&& other) noexcept { *this = std::move(other); }
  HostBuffer& operator=(HostBuffer&& other) noexcept;
  ~HostBuffer() { Release(); }

  void* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }  // whole pages
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void Release();

  void* data_ = nullptr;
  uint64_t bytes_ = 0;  // whole pages
  uint64_t booked_ = 0;
  MemoryCategory category_ = MemoryCategory::kScratch;
  MemoryBook* memory_ = nullptr;
};

}  // namespace fg
