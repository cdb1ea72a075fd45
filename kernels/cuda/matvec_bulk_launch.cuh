// How the form of matvec_bulk.cuh is launched: where it serves, how many blocks, warps and stages.
// Elsewhere StartQuantized.
#pragma once

#include <algorithm>

#include "kernels/cuda/matvec_bulk.cuh"

namespace fg::cuda::matvec {

// Whether a launch of `shared` bytes can go this way.
inline bool BulkServes(const Launch& launch, const Prepared& prepared, size_t shared) {
  for (int i = 0; i < launch.count; ++i) {
    if (launch.weight[i].out > INT32_MAX / 4) return false;
  }
  return prepared.error == cudaSuccess && prepared.waits && launch.rows == 1 &&
         launch.k / kBlock32 % 4 == 0 && launch.k < (1 << 24) &&
         shared <= static_cast<size_t>(Facts().shared_bytes);
}

// As many stages as the warp with most to do has groups.
template <class B>
int StagesFor(int64_t k, int64_t most_tiles) {
  const int64_t groups = (StepsOf(k) + B::kGroup - 1) / B::kGroup;
  return static_cast<int>(std::min<int64_t>(kMostStages, most_tiles * groups));
}

inline int64_t PairsOf(const Launch& launch) {
  int64_t pairs = 0;
  for (int i = 0; i < launch.count; ++i) pairs += (launch.weight[i].out + 1) / 2;
  return pairs;
}

// The most stages, up to `stages`, with which `blocks` blocks fit on a multiprocessor; 0: none.
template <class... Bs>
int FittingStages(int64_t k, int warps, int stages, int blocks) {
  while (stages > 0) {
    const size_t most = std::max({BulkBytes<Bs>(k, warps, stages)...});
    if (blocks * (most + 1024) <= static_cast<size_t>(Facts().shared_bytes) + 1024) break;
    --stages;
  }
  return stages;
}

template <class B>
cudaError_t StartBulk(Launch launch, cudaStream_t stream) {
  static const Prepared prepared = Prepare(BulkMatvecKernel<B>);
  const BulkGrid grid = BulkGridOf(PairsOf(launch), Facts().multiprocessors);
  launch.stages = FittingStages<B>(launch.k, grid.warps, StagesFor<B>(launch.k, grid.tiles),
                                   grid.blocks > Facts().multiprocessors ? 2 : 1);
  const size_t shared = BulkBytes<B>(launch.k, grid.warps, launch.stages);
  if (launch.stages == 0 || !BulkServes(launch, prepared, shared)) {
    return StartQuantized<typename B::Base>(launch, false, stream);
  }
  return Start(BulkMatvecKernel<B>, prepared, grid.blocks, shared, launch, stream, 1,
               32 * grid.warps);
}

template <class B>
cudaError_t StartBulkGateUp(Launch launch, cudaStream_t stream) {
  static const Prepared prepared = Prepare(BulkGateUpKernel<B>);
  const int warps = kMostBulkWarps, ranks = kGateUpOutputs / warps;
  const int64_t chunks = (launch.weight[0].out + kGateUpOutputs - 1) / kGateUpOutputs;
  const int64_t places = Facts().multiprocessors * kMostBulkWarps / warps / ranks;
  const int64_t clusters = std::min(std::max<int64_t>(places, 1), chunks);
  const int64_t tiles = (chunks + clusters - 1) / clusters;
  launch.stages = FittingStages<B>(launch.k, warps, StagesFor<B>(launch.k, tiles), 1);
  const size_t shared = BulkBytes<B>(launch.k, warps, launch.stages) +
                        static_cast<size_t>(tiles) * warps * 2 * sizeof(float);
  if (launch.stages == 0 || !BulkServes(launch, prepared, shared)) {
    return StartQuantized<typename B::Base>(launch, true, stream);
  }
  return Start(BulkGateUpKernel<B>, prepared, clusters * ranks, shared, launch, stream, ranks,
               32 * warps);
}

}  // namespace fg::cuda::matvec
