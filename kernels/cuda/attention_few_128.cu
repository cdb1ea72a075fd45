// Few rows of head_dim 128.
#include "kernels/cuda/attention_few_vector.cuh"

namespace fg::cuda {

cudaError_t LaunchFew128(const AttentionFewCall& call, cudaStream_t stream) {
  return LaunchFewVector<128>(call, stream);
}

}  // namespace fg::cuda
