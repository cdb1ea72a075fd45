// One operation on given data, on the GPU: what the probe's `op` runs there. The kernels, paths and
// labels are those of a forward; inputs and outputs are copied.
#pragma once

#include <memory>

#include "engine/backend/cuda/cublaslt.h"
#include "engine/backend/cuda/cuda_context.h"
#include "engine/backend/cuda/device_buffer.h"
#include "engine/backend/operations.h"

namespace fg {

class CudaOperations : public Operations {
 public:
  // All outlive the operations.
  static Result<std::unique_ptr<Operations>> Make(const Gates& gates, Ledger* ledger,
                                                  MemoryBook* memory, const DeviceInfo& info,
                                                  CublasLt* cublaslt);

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
  // kRefused: this backend has no int8 prefill family.
  Status QuantizeTiles(const float* x, int64_t rows, int64_t k, ActivationTile* plane) override;
  Status RmsNormTiles(const float* x, const float* w, int64_t rows, int64_t n, float eps, int mode,
                      float* y, ActivationTile* plane) override;
  Status SwigluTiles(const float* g, const float* u, int64_t rows, int64_t n, int mode, float* y,
                     ActivationTile* plane) override;

 private:
  struct MatmulCall;

  explicit CudaOperations(std::unique_ptr<CudaContext> context) : context_(std::move(context)) {}

  // Device memory of one call, without content or with a copy of `from`. kOutOfMemory.
  Result<DeviceBuffer> Take(uint64_t bytes);
  template <typename T>
  Result<DeviceBuffer> Copy(const T* from, int64_t count) {
    return CopyBytes(from, static_cast<uint64_t>(count) * sizeof(T));
  }
  Result<DeviceBuffer> CopyBytes(const void* from, uint64_t bytes);
  // Waits, and fills `to` with the buffer's first `count` values.
  template <typename T>
  Status Finish(const char* site, const DeviceBuffer& from, T* to, int64_t count) {
    return FinishBytes(site, from.data(), to, static_cast<uint64_t>(count) * sizeof(T));
  }
  Status FinishBytes(const char* site, const void* from, void* to, uint64_t bytes);

  Status TakeWeight(const WeightView& view, bool wide, MatmulCall* call);
  Status RunRows(MatmulCall& call);
  Status RunGemm(MatmulCall& call);

  std::unique_ptr<CudaContext> context_;
};

}  // namespace fg
