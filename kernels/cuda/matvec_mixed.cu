// q, k and v of the usual mixes: q4_K weights and q6_K weights in one launch.
#include "kernels/cuda/matvec_q4k.cuh"
#include "kernels/cuda/matvec_q6k.cuh"

namespace fg::cuda::matvec {
namespace {

template <int kRows>
__global__ void __launch_bounds__(kThreads, Q4K::kBlocks)
    MixedKernel(const __grid_constant__ Launch launch) {
  extern __shared__ __align__(16) uint8_t shared[];
  LetNextLaunchStart();
  const int block = blockIdx.x / launch.groups, group = blockIdx.x % launch.groups;
  const Weight& weight = launch.weight[WeightOfBlock(launch, block)];
  if (weight.type == TensorType::kQ4_K) {
    RunMatvec<Q4K, kRows>(launch, weight, block - weight.first_block, group, shared);
  } else {
    RunMatvec<Q6K, kRows>(launch, weight, block - weight.first_block, group, shared);
  }
}

}  // namespace

cudaError_t StartQ4_KWithQ6_K(Launch launch, cudaStream_t stream) {
  static const Prepared one = Prepare(MixedKernel<1>);
  static const Prepared many = Prepare(MixedKernel<kManyRows>);
  const int64_t blocks = ShareOutBlocks(kTileRows, Q4K::kBlocks, &launch);
  return StartEither(MixedKernel<1>, one, MixedKernel<kManyRows>, many, blocks, &launch, stream);
}

}  // namespace fg::cuda::matvec
