// What a launch of the one-row kernels carries, and how it overlaps with the launch before it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/matvec.h"
#include "kernels/cuda/pdl.cuh"

namespace fg::cuda::matvec {

constexpr int kMostWeights = 3;
constexpr int kWarps = 8;
constexpr int kThreads = 32 * kWarps;
constexpr int kManyRows = 4;        // rows that the form for several rows takes at a time
constexpr int kGateUpOutputs = 32;  // of a block: one chunk

struct Weight {
  const uint8_t* w;
  const float* bias;      // or null
  const float* residual;  // or null
  float* y;
  int64_t out;
  int64_t row_bytes;
  int first_block;  // blocks from here on are this weight's
  TensorType type;
};

// Of MatvecGateUp weight[0] is gate and weight[1] up, and y and chunks are written.
struct Launch {
  Weight weight[kMostWeights];
  int count;
  const ActivationChunk* plane;
  const float* x;
  int64_t k;
  int rows;
  int groups;  // of rows; block b works for group b % groups, so that neighbours read one weight
  int tiles;   // of outputs, one after the other, in a block
  int stages;  // of a warp's ring, in the form of matvec_bulk.cuh
  float* y;
  ActivationChunk* chunks;
};

struct DeviceFacts {
  cudaError_t error = cudaSuccess;
  int multiprocessors = 0;
  int shared_bytes = 0;  // most of a block
};
// Of the current device, asked for once.
const DeviceFacts& Facts();

// What a kernel needs once per process.
struct Prepared {
  cudaError_t error;
  bool waits;  // holds the instruction that WaitForLaunchBefore stands for
};

template <class Kernel>
Prepared Prepare(Kernel* kernel) {
  cudaFuncAttributes attributes;
  cudaError_t error = Facts().error;
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, kernel);
  if (error != cudaSuccess) return {error, false};
  error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               Facts().shared_bytes - static_cast<int>(attributes.sharedSizeBytes));
  return {error, attributes.ptxVersion >= 90};
}

template <class Kernel>
cudaError_t Start(Kernel* kernel, const Prepared& prepared, int64_t blocks, size_t shared,
                  const Launch& launch, cudaStream_t stream, int cluster = 1,
                  int threads = kThreads) {
  if (prepared.error != cudaSuccess) return prepared.error;
  if (blocks > INT32_MAX) return cudaErrorInvalidValue;
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = !prepared.waits ? 0 : cluster == 1 ? 1 : 2;
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, launch);
  return error != cudaSuccess ? error : cudaGetLastError();
}

// Numbers the launch's blocks for tiles of `tile_rows` outputs: sets tiles and each first_block.
// A multiprocessor holds `blocks_on_each`. The number of blocks of one group of rows.
int64_t ShareOutBlocks(int tile_rows, int blocks_on_each, Launch* launch);

// One per kernel file. The launch's weights are valid, groups and tiles not yet set.
cudaError_t StartQ4_0(Launch launch, bool gate_up, cudaStream_t stream);
cudaError_t StartQ5_0(Launch launch, bool gate_up, cudaStream_t stream);
cudaError_t StartQ8_0(Launch launch, bool gate_up, cudaStream_t stream);
cudaError_t StartQ4_K(Launch launch, bool gate_up, cudaStream_t stream);
cudaError_t StartQ6_K(Launch launch, bool gate_up, cudaStream_t stream);
cudaError_t StartQ4_KWithQ6_K(Launch launch, cudaStream_t stream);
cudaError_t StartFloat(Launch launch, bool gate_up, cudaStream_t stream);

}  // namespace fg::cuda::matvec
