// Activations of prefill matmuls in the form that a path multiplies, made once and shared by the
// matmuls that stand next to each other (q, k, v; gate, up).
#pragma once

#include <cstdint>

#include "base/status.h"
#include "engine/backend/cpu/host_buffer.h"
#include "engine/memory_book.h"
#include "kernels/formats/blocks.h"

namespace fg {

// Two planes, one a form, each of the last source it was made from. A plane is valid only across
// consecutive matmul nodes: whoever runs anything else clears both, because the source's memory may
// then hold other values under the same address. The planes lie outside the graph's pool.
class ActivationPlanes {
 public:
  explicit ActivationPlanes(MemoryBook* memory) : memory_(memory) {}

  // Room for `rows` rows of `k` values. Grows only; a plane that moves is cleared. kOutOfMemory.
  Status ReserveQuantized(int64_t rows, int64_t k);
  Status ReserveRounded(int64_t rows, int64_t k);

  ActivationChunk* quantized() { return quantized_.buffer.as<ActivationChunk>(); }  // [rows][k/32]
  uint16_t* rounded() { return rounded_.buffer.as<uint16_t>(); }                    // [rows][k] f16
  int32_t* exponents() { return exponents_.as<int32_t>(); }                         // [rows]

  // Whether the plane holds x[rows][k]. If not, it is recorded as holding it: the caller fills it.
  bool HoldsQuantized(const float* x, int64_t rows, int64_t k) {
    return quantized_.Holds(x, rows, k);
  }
  bool HoldsRounded(const float* x, int64_t rows, int64_t k) { return rounded_.Holds(x, rows, k); }

  void Clear();

 private:
  struct Plane {
    HostBuffer buffer;
    const float* source = nullptr;
    int64_t rows = 0, k = 0;
    bool Holds(const float* x, int64_t x_rows, int64_t x_k);
  };
  Status Grow(uint64_t bytes, const char* what, HostBuffer* buffer);

  MemoryBook* memory_;
  Plane quantized_, rounded_;
  HostBuffer exponents_;
};

}  // namespace fg
