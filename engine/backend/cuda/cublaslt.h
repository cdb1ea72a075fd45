// cuBLASLt, found at run time: FG_CUBLASLT_PATH (a file or a folder) alone where it is set, else
// beside the program, the loader's own path, the toolkit's folders and a PyTorch installation.
// docs/gpu.md "cuBLASLt".
//
// cuBLASLt is bit-stable only for the same library, shape, alignment, workspace and algorithm: the
// heuristic is asked once per shape, with a fixed workspace and pointers aligned to kGemmAlignment,
// algorithms that split K are excluded, and the algorithm found is kept and named.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "base/status.h"

namespace fg {

// Bytes that x, w and y of a GEMM are aligned to: what BufferPlan gives. Finer steps than 16 make
// no difference to an algorithm, but a promise that is kept everywhere can be checked everywhere.
constexpr int kGemmAlignment = 64;

enum class GemmType { kF16, kF32 };  // of both inputs; the sum and y are f32 (kF32: no TF32)

struct GemmShape {
  GemmType type = GemmType::kF16;
  int64_t rows = 0, k = 0, out = 0;
  bool operator==(const GemmShape&) const = default;
  auto operator<=>(const GemmShape&) const = default;
};

class CublasLt {
 public:
  // Opens the library. kDevice says what was tried and what to set.
  static Result<std::unique_ptr<CublasLt>> Open(const std::string& path);
  // Where none was found: every Prepare answers `why`, so that what needs no GEMM runs without.
  static std::unique_ptr<CublasLt> Absent(Status why);
  ~CublasLt();

  const std::string& version() const;  // "13.1.0"; empty where absent

  // Takes workspace and handle, and asks the heuristic for `shape`; later calls of the same shape
  // do nothing. Must not be called while capturing. kDevice names the shape that no algorithm
  // serves.
  Status Prepare(const GemmShape& shape);
  // y[rows][out] = x[rows][k] * w[out][k]^T. Prepared before. Nothing is allocated.
  // cudaErrorInvalidValue for a shape that is not prepared or a pointer that breaks
  // kGemmAlignment.
  cudaError_t Run(const GemmShape& shape, const void* x, const void* w, float* y,
                  cudaStream_t stream);
  // "cublaslt.ALGO.tileT.stagesS", the library's numbers, then ".clusterC" and ".customO" where
  // they are not 0; of a prepared shape.
  const std::string& AlgorithmName(const GemmShape& shape) const;
  // On the device, 0 before the first Prepare; whoever takes a model over books it.
  uint64_t workspace_bytes() const;

 private:
  struct Impl;
  explicit CublasLt(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fg
