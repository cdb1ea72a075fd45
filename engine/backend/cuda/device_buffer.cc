#include "engine/backend/cuda/device_buffer.h"

#include <cuda_runtime_api.h>

#include "engine/backend/cuda/out_of_memory.h"

namespace fg {

Result<DeviceBuffer> DeviceBuffer::Allocate(uint64_t bytes, MemoryCategory category,
                                            MemoryBook* book, const std::string& what,
                                            const std::string& hint) {
  DeviceBuffer buffer;
  if (bytes == 0) return buffer;
  const cudaError_t error = cudaMalloc(&buffer.data_, bytes);
  if (error != cudaSuccess) {
    buffer.data_ = nullptr;
    (void)cudaGetLastError();  // it would show at the next launch
    if (error != cudaErrorMemoryAllocation) {
      return Status(ErrorKind::kDevice,
                    what + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")");
    }
    size_t free = 0, total = 0;
    (void)cudaMemGetInfo(&free, &total);
    return Status(ErrorKind::kOutOfMemory, OutOfDeviceMemoryText(what, bytes, free, total, hint));
  }
  buffer.bytes_ = bytes;
  buffer.category_ = category;
  buffer.book_ = book;
  if (book != nullptr) book->Add(category, bytes);
  return buffer;
}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  if (this == &other) return *this;
  Release();
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  category_ = other.category_;
  book_ = std::exchange(other.book_, nullptr);
  return *this;
}

DeviceBuffer::~DeviceBuffer() { Release(); }

void DeviceBuffer::Release() {
  if (data_ == nullptr) return;
  (void)cudaFree(data_);
  if (book_ != nullptr) book_->Remove(category_, bytes_);
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace fg
