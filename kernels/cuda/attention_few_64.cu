// Few rows of head_dim 64.
#include "kernels/cuda/attention_few_vector.cuh"

namespace fg::cuda {

cudaError_t LaunchFew64(const AttentionFewCall& call, cudaStream_t stream) {
  return LaunchFewVector<64>(call, stream);
}

}  // namespace fg::cuda
