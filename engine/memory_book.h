// Bytes per category, now and at peak, and what the system says of this process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace fg {

enum class MemoryCategory { kWeights, kPlanes, kF16Cache, kKv, kScratch, kGraph };
constexpr int kMemoryCategories = 6;
const char* MemoryCategoryName(MemoryCategory category);  // "weights", "planes", "f16_cache", ...

class MemoryBook {
 public:
  struct Entry {
    uint64_t now = 0, peak = 0;
    bool file_backed = false;  // true when any part of it was
  };
  void Add(MemoryCategory category, uint64_t bytes, bool file_backed = false);
  void Remove(MemoryCategory category, uint64_t bytes);  // never below zero
  const Entry& entry(MemoryCategory category) const {
    return entries_[static_cast<size_t>(category)];
  }

 private:
  std::array<Entry, kMemoryCategories> entries_;
};

struct SystemMemory {
  uint64_t anonymous = 0, file_backed = 0, peak_resident = 0;  // bytes
};
// From /proc/self/smaps_rollup and /proc/self/status. kIo where they cannot be read.
Result<SystemMemory> ReadSystemMemory();
// The same from the two files' texts: anonymous is "Anonymous:", file_backed is "Rss:" less that.
Result<SystemMemory> ParseSystemMemory(std::string_view smaps_rollup, std::string_view status);

}  // namespace fg
