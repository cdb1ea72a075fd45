// Planted defects of the device, one a kernel (docs/faults.md). Nothing runs them but a fault that
// was asked for.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fg::cuda {

// logits[row][n] /= the mean of |logits[row]|, whose sum is taken by atomic adds of floats, in the
// order in which threads arrive. sums [rows] is scratch.
cudaError_t FaultyRacingScale(float* logits, int64_t rows, int64_t n, float* sums,
                              cudaStream_t stream);

// Reads the last chunk of row[n] and the one behind it, beyond the array's end; their sum goes to
// *sink.
cudaError_t FaultyOverrun(const float* row, int64_t n, float* sink, cudaStream_t stream);

}  // namespace fg::cuda
