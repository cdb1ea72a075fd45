#include "engine/backend/cpu/host_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "base/checked.h"

namespace fg {

namespace {

// Whole pages of `bytes`, touched and filled; null where there are none.
void* TakePages(uint64_t bytes, uint64_t* whole) {
  const auto aligned = CheckedAlignUp(bytes, static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
  if (!aligned) return nullptr;
  void* data =
      ::mmap(nullptr, *aligned, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  std::memset(data, 0xFF, *aligned);
  *whole = *aligned;
  return data;
}

}  // namespace

Result<HostBuffer> HostBuffer::Allocate(uint64_t bytes, MemoryCategory category, MemoryBook* memory,
                                        const std::string& what) {
  FG_ASSIGN_OR_RETURN(HostBuffer buffer, AllocateExact(bytes, category, memory, what));
  memory->Add(category, buffer.bytes_ - buffer.booked_);
  buffer.booked_ = buffer.bytes_;
  return buffer;
}

Result<HostBuffer> HostBuffer::AllocateExact(uint64_t bytes, MemoryCategory category,
                                             MemoryBook* memory, const std::string& what) {
  HostBuffer buffer;
  if (bytes == 0) return buffer;
  buffer.data_ = TakePages(bytes, &buffer.bytes_);
  if (buffer.data_ == nullptr) {
    return Status(ErrorKind::kOutOfMemory,
                  "cannot take " + std::to_string(bytes) + " bytes for " + what);
  }
  buffer.booked_ = bytes;
  buffer.category_ = category;
  buffer.memory_ = memory;
  memory->Add(category, bytes);
  return buffer;
}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
  if (this == &other) return *this;
  Release();
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  booked_ = std::exchange(other.booked_, 0);
  category_ = other.category_;
  memory_ = std::exchange(other.memory_, nullptr);
  return *this;
}

void HostBuffer::Release() {
  if (data_ == nullptr) return;
  ::munmap(data_, bytes_);
  memory_->Remove(category_, booked_);
  data_ = nullptr;
  bytes_ = booked_ = 0;
}

}  // namespace fg
