#include "engine/backend/cpu/activation_planes.h"

namespace fg {

bool ActivationPlanes::Plane::Holds(const float* x, int64_t x_rows, int64_t x_k) {
  if (source == x && rows == x_rows && k == x_k) return true;
  source = x;
  rows = x_rows;
  k = x_k;
  return false;
}

void ActivationPlanes::Clear() {
  quantized_.source = nullptr;
  rounded_.source = nullptr;
}

Status ActivationPlanes::Grow(uint64_t bytes, const char* what, HostBuffer* buffer) {
  if (bytes <= buffer->bytes()) return Status::Ok();
  Clear();
  *buffer = HostBuffer();  // the old one first: never both at once
  FG_ASSIGN_OR_RETURN(*buffer,
                      HostBuffer::Allocate(bytes, MemoryCategory::kScratch, memory_, what));
  return Status::Ok();
}

Status ActivationPlanes::ReserveQuantized(int64_t rows, int64_t k) {
  const uint64_t bytes = static_cast<uint64_t>(rows) * (k / kBlock32) * sizeof(ActivationChunk);
  return Grow(bytes, "the plane of quantized activations", &quantized_.buffer);
}

Status ActivationPlanes::ReserveRounded(int64_t rows, int64_t k) {
  FG_RETURN_IF_ERROR(Grow(static_cast<uint64_t>(rows) * k * sizeof(uint16_t),
                          "the plane of f16 activations", &rounded_.buffer));
  return Grow(static_cast<uint64_t>(rows) * sizeof(int32_t), "the exponents of f16 activations",
              &exponents_);
}

}  // namespace fg
