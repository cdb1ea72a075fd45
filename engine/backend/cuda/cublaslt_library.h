// The functions of cuBLASLt that are used, taken from a library that was opened at run time.
#pragma once

#include <cublasLt.h>

#include "base/status.h"
#include "engine/backend/cuda/cublaslt_search.h"

namespace fg {

struct CublasLtFunctions {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) algo_get = nullptr;
};

// kDevice names a function that the library lacks.
Result<CublasLtFunctions> FindFunctions(const OpenedCublasLt& opened);

// Ok, or kDevice "WHAT: cuBLASLt status N (NAME)".
Status CheckCublas(cublasStatus_t status, const char* what);

// What a failed call means as an error of the runtime.
cudaError_t AsCudaError(cublasStatus_t status);

}  // namespace fg
