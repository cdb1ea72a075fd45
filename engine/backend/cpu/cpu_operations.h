// The operations on the CPU: those of engine/backend/cpu/cpu_ops.h, each in the phase of its rows.
#pragma once

#include "engine/backend/cpu/cpu_context.h"
#include "engine/backend/operations.h"

namespace fg {

class CpuOperations : public Operations {
 public:
  // All three outlive the operations.
  CpuOperations(const Gates& gates, Ledger* ledger, MemoryBook* memory)
      : context_(gates, ledger, memory) {}

  Status QuantizeRows(const float* x, int64_t rows, int64_t k, ActivationChunk* plane) override;
  // kBadModel for a weight that no model could have.
  Status Matmul(const WeightView& view, const float* x, int64_t rows, const float* bias,
                float* y) override;
  Status RmsNorm(const float* x, const float* w, int64_t rows, int64_t n, float eps,
                 float* y) override;
  Status Swiglu(const float* g, const float* u, int64_t rows, int64_t n, float* y) override;
  Status Rope(float* x, int64_t rows, int64_t heads, int64_t head_dim, const int32_t* positions,
              double base) override;
  Status Attention(const AttentionShape& shape, const float* q, const uint16_t* keys,
                   const uint16_t* values, const int32_t* at, float* y) override;
  Status Exp(const float* x, int64_t n, float* y) override;
  Status QuantizeTiles(const float* x, int64_t rows, int64_t k, ActivationTile* plane) override;
  Status RmsNormTiles(const float* x, const float* w, int64_t rows, int64_t n, float eps, int mode,
                      float* y, ActivationTile* plane) override;
  Status SwigluTiles(const float* g, const float* u, int64_t rows, int64_t n, int mode, float* y,
                     ActivationTile* plane) override;

 private:
  CpuContext context_;
};

}  // namespace fg
