#include "kernels/cuda/matvec_q6k.cuh"

namespace fg::cuda::matvec {

cudaError_t StartQ6_K(Launch launch, bool gate_up, cudaStream_t stream) {
  return StartQuantized<Q6K>(launch, gate_up, stream);
}

}  // namespace fg::cuda::matvec
