#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fg::cuda {

// y[n] = a[n] + b[n]; y may be a or b.
cudaError_t Add(const float* a, const float* b, int64_t n, float* y, cudaStream_t stream);

// y[n] = ExpF32(x[n]), the polynomial of kernels/cpu/exp.h, same bits.
cudaError_t Exp(const float* x, int64_t n, float* y, cudaStream_t stream);

// ids[rows]: of the highest of logits[row][n], the lowest id among equals, NaN passed over; -1
// where all are NaN. `scratch` is zeroed once by who took it; each call leaves it zeroed. Calls in
// flight at the same time do not share it.
cudaError_t Argmax(const float* logits, int64_t rows, int64_t n, int32_t* ids, void* scratch,
                   cudaStream_t stream);
int64_t ArgmaxScratch(int64_t rows);  // bytes, 8-byte aligned

}  // namespace fg::cuda
