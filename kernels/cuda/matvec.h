// One-row kernels: 1 to 15 rows, each with the bits that it has alone.
//
// Quantized weights: the integer products of docs/arithmetic.md with the row quantized as a plane
// row (ActivationChunk). The chunks of K are shared out to lanes by a rule that depends on K and
// the type alone, each lane keeps the contract's acc over its chunks in ascending order, and the
// lanes' accs are added in a fixed tree (stated in the file of the type). f16, bf16 and f32 weights
// take the f32 activations unrounded, by fma over lanes and the same tree. The rule, for all types:
// matvec_order.h.
//
// On compute capability 9.0 a launch may begin while the one before it on the stream runs
// (pdl.cuh, captured into graphs too): until that one has ended, it reads weights and nothing else.
// So no weight may be written by the launch right before. cudaErrorInvalidValue for arguments that
// no kernel serves, and for a quantized row that does not fit shared memory (40 bytes each 32
// values: K above 184,000 with 227 KB a block).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/resident_layout.h"

namespace fg::cuda {

constexpr int kMostMatvecRows = 15;

struct MatvecArgs {
  TensorType type = TensorType::kF32;
  const void* w = nullptr;  // resident: [out][ResidentRowBytes(type, k)], 16-byte aligned
  int64_t k = 0, out = 0;
  int64_t rows = 0;                        // 1 to kMostMatvecRows
  const ActivationChunk* plane = nullptr;  // [rows][k/32], 8-byte aligned: of quantized types
  const float* x = nullptr;                // [rows][k]: of f16, bf16 and f32
  const float* bias = nullptr;             // [out], or null; added after the last chunk
  const float* residual = nullptr;         // [rows][out], or null; added after the bias; may be y
  float* y = nullptr;                      // [rows][out]
};

cudaError_t Matvec(const MatvecArgs& args, cudaStream_t stream);

// Up to three weights of one k and one plane (q, k and v) in one launch. Each as Matvec; all of
// args[i].rows, .k, .plane, .x equal. The types may differ.
cudaError_t MatvecThree(const MatvecArgs args[], int count, cudaStream_t stream);

// y = (g / (1 + exp(-g))) * u of gate and up in one launch: the bits of two Matvecs and Swiglu.
// gate and up of one type, k, out, rows, plane and x; their bias and residual null. y [rows][out]
// may be null; chunks [rows][out/32] (QuantizeRows of y; out a multiple of 32) may be null.
cudaError_t MatvecGateUp(const MatvecArgs& gate, const MatvecArgs& up, float* y,
                         ActivationChunk* chunks, cudaStream_t stream);

}  // namespace fg::cuda
