// q, k and v of the usual mixes: q4_K weights and q6_K weights in one launch.
#include "kernels/cuda/matvec_bulk_launch.cuh"
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

// Weights of one type lie side by side: first those of q4_K. Each type has blocks of its own.
template <class BulkOfQ6K>
__global__ void __launch_bounds__(32 * kMostBulkWarps, 1)
    BulkMixedKernel(const __grid_constant__ Launch launch) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) uint8_t shared[];
  LetNextLaunchStart();
  int first = 0;
  while (launch.weight[first].type == TensorType::kQ4_K) ++first;
  const int blocks = launch.groups, block = blockIdx.x;  // of q4_K
  if (block < blocks) {
    RunBulk<BulkQ4K>(launch, 0, first, block, blocks, shared);
  } else {
    RunBulk<BulkOfQ6K>(launch, first, launch.count, block - blocks, gridDim.x - blocks, shared);
  }
#endif
}

// *served: whether it could go this way.
template <class BulkOfQ6K>
cudaError_t StartBulkMixed(Launch launch, bool* served, cudaStream_t stream) {
  static const Prepared prepared = Prepare(BulkMixedKernel<BulkOfQ6K>);
  std::stable_sort(launch.weight, launch.weight + launch.count,
                   [](const Weight& a, const Weight& b) {
                     return a.type == TensorType::kQ4_K && b.type != TensorType::kQ4_K;
                   });
  const int64_t pairs = PairsOf(launch);
  int64_t pairs_of_q4 = 0;
  for (int i = 0; i < launch.count; ++i) {
    if (launch.weight[i].type == TensorType::kQ4_K) pairs_of_q4 += (launch.weight[i].out + 1) / 2;
  }
  const BulkGrid grid = BulkGridOf(pairs, Facts().multiprocessors);
  const int wanted = std::max(StagesFor<BulkQ4K>(launch.k, grid.tiles),
                              StagesFor<BulkOfQ6K>(launch.k, grid.tiles));
  launch.stages = FittingStages<BulkQ4K, BulkOfQ6K>(launch.k, grid.warps, wanted,
                                                    grid.blocks > Facts().multiprocessors ? 2 : 1);
  const size_t shared = std::max(BulkBytes<BulkQ4K>(launch.k, grid.warps, launch.stages),
                                 BulkBytes<BulkOfQ6K>(launch.k, grid.warps, launch.stages));
  *served = launch.stages > 0 && grid.blocks > 1 && BulkServes(launch, prepared, shared);
  if (!*served) return cudaSuccess;
  launch.groups =
      static_cast<int>(std::clamp<int64_t>(pairs_of_q4 * grid.blocks / pairs, 1, grid.blocks - 1));
  return Start(BulkMixedKernel<BulkOfQ6K>, prepared, grid.blocks, shared, launch, stream, 1,
               32 * grid.warps);
}

}  // namespace

cudaError_t StartQ4_KWithQ6_K(Launch launch, cudaStream_t stream) {
  bool served = false;
  const cudaError_t error = IsShortQ6K(launch.k)
                                ? StartBulkMixed<BulkQ6KShort>(launch, &served, stream)
                                : StartBulkMixed<BulkQ6KLong>(launch, &served, stream);
  if (served || error != cudaSuccess) return error;
  static const Prepared one = Prepare(MixedKernel<1>);
  static const Prepared many = Prepare(MixedKernel<kManyRows>);
  const int64_t blocks = ShareOutBlocks(kTileRows, Q4K::kBlocks, &launch);
  return StartEither(MixedKernel<1>, one, MixedKernel<kManyRows>, many, blocks, &launch, stream);
}

}  // namespace fg::cuda::matvec
