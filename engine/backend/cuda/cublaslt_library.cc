#include "engine/backend/cuda/cublaslt_library.h"

#include <dlfcn.h>

namespace fg {
namespace {

template <typename Function>
Status Find(const OpenedCublasLt& opened, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(::dlsym(opened.handle, name));
  if (*function != nullptr) return Status::Ok();
  return Status(ErrorKind::kDevice, opened.path + ": this cuBLASLt " + opened.version + " lacks " +
                                        name + "; set FG_CUBLASLT_PATH to another");
}

const char* NameOf(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "no memory";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "invalid value";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "not for this device";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "execution failed";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "not supported";
    default:
      return "an internal error";
  }
}

}  // namespace

Result<CublasLtFunctions> FindFunctions(const OpenedCublasLt& opened) {
  CublasLtFunctions f;
  FG_RETURN_IF_ERROR(Find(opened, "cublasLtCreate", &f.create));
  FG_RETURN_IF_ERROR(Find(opened, "cublasLtDestroy", &f.destroy));
  FG_RETURN_IF_ERROR(Find(opened, "cublasLtMatmul", &f.matmul));
  FG_RETURN_IF_ERROR(Find(opened, "cublasLtMatmulDescCreate", &f.desc_create));
  FG_RETURN_IF_ERROR(Find(opened, "cublasLtMatmulDescDestroy", &f.desc_destroy));
  FG_RETURN_IF_ERROR(Find(opened, "cublasLtMatmulDescSetAttribute", &f.desc_set));
  FG_RETURN_IF_ERROR(Find(opened, "cublasLtMatrixLayoutCreate", &f.layout_create));
  FG_RETURN_IF_ERROR(Find(opened, "cublasLtMatrixLayoutDestroy", &f.layout_destroy));
  FG_RETURN_IF_ERROR(Find(opened, "cublasLtMatmulPreferenceCreate", &f.preference_create));
  FG_RETURN_IF_ERROR(Find(opened, "cublasLtMatmulPreferenceDestroy", &f.preference_destroy));
  FG_RETURN_IF_ERROR(Find(opened, "cublasLtMatmulPreferenceSetAttribute", &f.preference_set));
  FG_RETURN_IF_ERROR(Find(opened, "cublasLtMatmulAlgoGetHeuristic", &f.heuristic));
  FG_RETURN_IF_ERROR(Find(opened, "cublasLtMatmulAlgoConfigGetAttribute", &f.algo_get));
  return f;
}

Status CheckCublas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return Status::Ok();
  return Status(ErrorKind::kDevice, std::string(what) + ": cuBLASLt status " +
                                        std::to_string(static_cast<int>(status)) + " (" +
                                        NameOf(status) + ")");
}

cudaError_t AsCudaError(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return cudaSuccess;
  // An error of the device that the runtime knows says more.
  const cudaError_t known = cudaGetLastError();
  if (known != cudaSuccess) return known;
  switch (status) {
    case CUBLAS_STATUS_INVALID_VALUE:
      return cudaErrorInvalidValue;
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return cudaErrorNotSupported;
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return cudaErrorNoKernelImageForDevice;
    case CUBLAS_STATUS_ALLOC_FAILED:
      return cudaErrorMemoryAllocation;
    default:
      return cudaErrorLaunchFailure;
  }
}

}  // namespace fg
