// One operation on given data, host memory in and out: what the probe's `op` runs, on whichever
// device. The kernels and labels are those of a forward. docs/probe.md "op".
#pragma once

#include <cstdint>

#include "base/status.h"
#include "engine/model/weight_view.h"
#include "engine/phase.h"
#include "kernels/formats/blocks.h"
#include "kernels/formats/planes.h"

namespace fg {

// Shapes of attention over a cache that is given whole.
struct AttentionShape {
  int64_t rows = 0, heads = 0, kv_heads = 0, head_dim = 0;
  int64_t positions = 0;  // of keys and values
};

// Each as the entry of engine/backend/cpu/cpu_ops.h of that name. All arrays lie in host memory. An
// operation that the device does not have is kRefused and says so. Not for concurrent use.
class Operations {
 public:
  virtual ~Operations() = default;

  virtual Status QuantizeRows(const float* x, int64_t rows, int64_t k, ActivationChunk* plane) = 0;
  virtual Status Matmul(const WeightView& view, const float* x, int64_t rows, const float* bias,
                        float* y) = 0;
  virtual Status RmsNorm(const float* x, const float* w, int64_t rows, int64_t n, float eps,
                         float* y) = 0;
  virtual Status Swiglu(const float* g, const float* u, int64_t rows, int64_t n, float* y) = 0;
  // In place on x[rows][heads][head_dim]; angles position * base^(-2i/head_dim).
  virtual Status Rope(float* x, int64_t rows, int64_t heads, int64_t head_dim,
                      const int32_t* positions, double base) = 0;
  // q, y [rows][heads][head_dim]; keys, values [positions][kv_heads][head_dim] f16; at[rows].
  virtual Status Attention(const AttentionShape& shape, const float* q, const uint16_t* keys,
                           const uint16_t* values, const int32_t* at, float* y) = 0;
  virtual Status Exp(const float* x, int64_t n, float* y) = 0;
  // Of the int8 prefill family.
  virtual Status QuantizeTiles(const float* x, int64_t rows, int64_t k, ActivationTile* plane) = 0;
  virtual Status RmsNormTiles(const float* x, const float* w, int64_t rows, int64_t n, float eps,
                              int mode, float* y, ActivationTile* plane) = 0;
  virtual Status SwigluTiles(const float* g, const float* u, int64_t rows, int64_t n, int mode,
                             float* y, ActivationTile* plane) = 0;
};

}  // namespace fg
