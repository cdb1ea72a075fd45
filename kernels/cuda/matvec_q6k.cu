#include "kernels/cuda/matvec_q6k.cuh"

#include "kernels/cuda/matvec_bulk_launch.cuh"

namespace fg::cuda::matvec {

cudaError_t StartQ6_K(Launch launch, bool gate_up, cudaStream_t stream) {
  if (gate_up) {
    return IsShortQ6K(launch.k) ? StartBulkGateUp<BulkQ6KShort>(launch, stream)
                                : StartBulkGateUp<BulkQ6KLong>(launch, stream);
  }
  return IsShortQ6K(launch.k) ? StartBulk<BulkQ6KShort>(launch, stream)
                              : StartBulk<BulkQ6KLong>(launch, stream);
}

}  // namespace fg::cuda::matvec
