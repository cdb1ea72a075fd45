#include "engine/backend/cuda/cuda_kv_cache.h"

namespace fg {

CudaKvCache::~CudaKvCache() {
  // Another cache may get this address; nothing that was taken down may run into it.
  if (const auto captured = captured_.lock()) captured->Drop(buffer_.data());
}

}  // namespace fg
