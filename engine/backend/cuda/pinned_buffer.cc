#include "engine/backend/cuda/pinned_buffer.h"

#include <cuda_runtime_api.h>

namespace fg {

Result<PinnedBuffer> PinnedBuffer::Allocate(uint64_t bytes, const std::string& what) {
  PinnedBuffer buffer;
  if (bytes == 0) return buffer;
  const cudaError_t error = cudaHostAlloc(&buffer.data_, bytes, cudaHostAllocDefault);
  if (error != cudaSuccess) {
    (void)cudaGetLastError();  // it would show at the next launch
    buffer.data_ = nullptr;
    return Status(ErrorKind::kOutOfMemory, what + ": cannot pin " + std::to_string(bytes) +
                                               " bytes of host memory (" +
                                               cudaGetErrorString(error) + ")");
  }
  buffer.bytes_ = bytes;
  return buffer;
}

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  if (this == &other) return *this;
  if (data_ != nullptr) (void)cudaFreeHost(data_);
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

PinnedBuffer::~PinnedBuffer() {
  if (data_ != nullptr) (void)cudaFreeHost(data_);
}

}  // namespace fg
