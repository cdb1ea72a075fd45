#include "engine/backend/cpu/host_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "base/checked.h"

namespace fg {

Result<HostBuffer> HostBuffer::Allocate(uint64_t bytes, MemoryCategory category, MemoryBook* memory,
                                        const std::string& what) {
  HostBuffer buffer;
  if (bytes == 0) return buffer;
  const auto whole = CheckedAlignUp(bytes, static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
  void* data = MAP_FAILED;
  if (whole) {
    data = ::mmap(nullptr, *whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (data == MAP_FAILED) {
    return Status(ErrorKind::kOutOfMemory,
                  "cannot take " + std::to_string(bytes) + " bytes for " + what);
  }
  std::memset(data, 0xFF, *whole);
  buffer.data_ = data;
  buffer.bytes_ = *whole;
  buffer.category_ = category;
  buffer.memory_ = memory;
  memory->Add(category, *whole);
  return buffer;
}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
  if (this == &other) return *this;
  Release();
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  category_ = other.category_;
  memory_ = std::exchange(other.memory_, nullptr);
  return *this;
}

void HostBuffer::Release() {
  if (data_ == nullptr) return;
  ::munmap(data_, bytes_);
  memory_->Remove(category_, bytes_);
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace fg
