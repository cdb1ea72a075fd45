#include "kernels/cuda/matvec_q4k.cuh"

namespace fg::cuda::matvec {

cudaError_t StartQ4_K(Launch launch, bool gate_up, cudaStream_t stream) {
  return StartQuantized<Q4K>(launch, gate_up, stream);
}

}  // namespace fg::cuda::matvec
