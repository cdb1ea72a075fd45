// Launches that overlap (programmatic dependent launch, compute capability 9.0; elsewhere they
// follow each other as ever). Every kernel launched through LaunchOverlapping lets the next one
// start at once and waits for the one before it ahead of any access to memory that some launch
// writes. So each ends after the one before it has ended, and the order of a chain is whole: a
// launch three places on begins to read when all before it are done. What no launch writes
// (weights) may be fetched before the wait.
#pragma once

#include <cuda_runtime.h>

namespace fg::cuda {

// Lets the next launch's blocks come in where there is room.
__device__ inline void LetNextLaunchStart() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Until the launch before has ended and its writes are to be seen.
__device__ inline void WaitForLaunchBefore() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ inline void PrefetchL2(const void* at) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}

// Whether a kernel's code holds the instruction that WaitForLaunchBefore stands for.
template <class Kernel>
bool WaitsForLaunchBefore(Kernel* kernel, cudaError_t* error) {
  cudaFuncAttributes attributes;
  *error = cudaFuncGetAttributes(&attributes, kernel);
  return *error == cudaSuccess && attributes.ptxVersion >= 90;
}

// Launches kernel(args...), overlapping where it waits. Asked once per kernel: kKernel is a
// template argument.
template <auto kKernel, class... Args>
cudaError_t LaunchOverlapping(dim3 grid, int threads, size_t shared, cudaStream_t stream,
                              const Args&... args) {
  static cudaError_t prepared = cudaSuccess;
  static const bool waits = WaitsForLaunchBefore(kKernel, &prepared);
  if (prepared != cudaSuccess) return prepared;
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = waits ? 1 : 0;
  const cudaError_t error = cudaLaunchKernelEx(&config, kKernel, args...);
  return error != cudaSuccess ? error : cudaGetLastError();
}

}  // namespace fg::cuda
