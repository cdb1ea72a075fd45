#include "kernels/cuda/matvec_q4k.cuh"

#include "kernels/cuda/matvec_bulk_launch.cuh"

namespace fg::cuda::matvec {

cudaError_t StartQ4_K(Launch launch, bool gate_up, cudaStream_t stream) {
  return gate_up ? StartBulkGateUp<BulkQ4K>(launch, stream) : StartBulk<BulkQ4K>(launch, stream);
}

}  // namespace fg::cuda::matvec
