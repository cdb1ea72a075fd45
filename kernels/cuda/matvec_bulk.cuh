// One row of activations on compute capability 9.0: each warp streams its rows of weights through
// a ring of stages in shared memory by bulk copies, across the ends of rows and of weights, and
// meets no other warp on the way. The first stages are under way before the launch before has
// ended. The order of an output's sum is that of matvec_order.h, as in matvec.cuh.
//
// A stage: the two neighbouring rows that a warp's two times 16 lanes have in hand; kGroup steps of
// them, field by field, or all of them as they lie, where they have no more steps. B gives: Base
// (the type's Q of matvec.cuh), kGroup, kFields, StepBytes (of a field in one step; where a row has
// more than one group, a group's is a multiple of 16), Extra, and Add (one step of a lane, whose
// constants it holds; made from where each field begins). Unlike Q it reads both halves of the
// lane's own chunk, so that no lanes meet before the end.
#pragma once

#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/matvec.cuh"
#include "kernels/cuda/matvec_share.h"

namespace fg::cuda::matvec {

constexpr int kMostStages = 3;  // of a warp's ring

template <class B>
constexpr int BytesBefore(int field) {  // of a step
  int bytes = 0;
  for (int f = 0; f < field; ++f) bytes += B::StepBytes(f);
  return bytes;
}
template <class B>
constexpr int kStageRowBytes = (B::kGroup * BytesBefore<B>(B::kFields) + 15) / 16 * 16;
template <class B>
constexpr int kStageBytes = 2 * kStageRowBytes<B>;
constexpr int kBarrierBytes = kMostBulkWarps * kMostStages * 8;
static_assert(kBarrierBytes % 16 == 0);

// Shared memory of a block: barriers, plane, rings; then the sums of gate and up.
constexpr int PlaneBytes(int64_t k) { return StepsOf(k) * kStagedBytes; }
template <class B>
constexpr size_t BulkBytes(int64_t k, int warps, int stages) {
  return kBarrierBytes + static_cast<size_t>(PlaneBytes(k)) +
         static_cast<size_t>(warps) * stages * kStageBytes<B>;
}

// Where a field of a stage's row begins, and a stage's rows.
template <class B>
struct StageShape {
  int chunks;
  bool whole;
  __device__ StageShape(int chunk_count, int steps)
      : chunks(chunk_count), whole(steps <= B::kGroup) {}
  __device__ uint32_t Field(int f) const {
    const int before = BytesBefore<B>(f);
    return static_cast<uint32_t>(whole ? chunks * before / kMatvecLanes : B::kGroup * before);
  }
  __device__ uint32_t Row() const {
    return whole ? static_cast<uint32_t>((Field(B::kFields) + 15) / 16 * 16)
                 : static_cast<uint32_t>(kStageRowBytes<B>);
  }
};

__device__ inline uint32_t LoadShared2(uint32_t at) {
  unsigned short v;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v) : "r"(at));
  return v;
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

// The same in all lanes, and the compiler knows.
__device__ inline int UniformWarp() {
  return __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / 32, 0);
}

// Two rows of a warp: the first one's bytes, and the distance to the second (0: there is none).
struct RowPair {
  const uint8_t* first;
  int64_t distance;
};

// Brings a warp's rows in, group by group: rows_at(tile) for each of `tiles`.
template <class B, class RowsAt>
struct BulkLoader {
  const RowsAt& rows_at;
  StageShape<B> shape;
  int tiles, chunks, steps, stages;
  uint32_t ring, barriers;  // of this warp
  int tile = 0, step = 0, stage = 0;

  // A lane each field and row. The copies of lanes go out one by one.
  __device__ void Group(const RowPair& rows, uint32_t to, uint32_t barrier) {
    const int lane = threadIdx.x % 32, field = lane / 2;
    uint32_t all = 0, bytes = 0;
    int at = 0, place = 0;
#pragma unroll
    for (int f = 0; f < B::kFields; ++f) {
      const uint32_t of_field = BytesOf(f);
      all += of_field;
      if (field != f) continue;
      bytes = of_field;
      at = chunks * BytesBefore<B>(f) / kMatvecLanes + step * B::StepBytes(f);
      place = B::kGroup * BytesBefore<B>(f);
    }
    if (lane == 0) ArriveExpecting(barrier, 2 * all);
    __syncwarp();
    if (field >= B::kFields) return;
    CopyBulk(to + lane % 2 * kStageRowBytes<B> + place,
             rows.first + (lane % 2 == 0 ? 0 : rows.distance) + at, bytes, barrier);
  }

  // Of a field, from `step` on.
  __device__ uint32_t BytesOf(int field) const {
    const int all = (chunks * B::StepBytes(field) / kMatvecLanes + 15) / 16 * 16;
    return static_cast<uint32_t>(
        min(all - step * B::StepBytes(field), B::kGroup * B::StepBytes(field)));
  }

  // All lanes call. Each has read what the stage held.
  __device__ void Next() {
    if (tile >= tiles) return;
    const int lane = threadIdx.x % 32;
    const RowPair rows = rows_at(tile);
    const uint32_t barrier = barriers + 8 * stage, to = ring + stage * kStageBytes<B>;
    if (shape.whole) {
      if (lane == 0) {
        // A row without a neighbour comes alone, and what lies behind it is not used.
        const uint32_t bytes = rows.distance == 0 ? shape.Row() : 2 * shape.Row();
        ArriveExpecting(barrier, bytes);
        CopyBulk(to, rows.first, bytes, barrier);
      }
    } else {
      Group(rows, to, barrier);
    }
    if (++stage == stages) stage = 0;
    step += B::kGroup;
    if (step >= steps) step = 0, ++tile;
  }
};

// The one row's plane: as StageRows, but with both halves of the chunk that a slot keeps.
template <class B>
__device__ void StageOwnChunks(const Launch& launch, uint8_t* shared) {
  const int chunks = static_cast<int>(launch.k / kBlock32);
  const int slots = StepsOf(launch.k) * kMatvecLanes;
  constexpr int kAtOnce = 2;  // slots of a thread that are loaded before the first is stored
  for (int base = threadIdx.x; base < slots; base += kAtOnce * blockDim.x) {
    uint2 q[kAtOnce][4] = {}, extra[kAtOnce] = {};
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n) {
      const int slot = base + n * static_cast<int>(blockDim.x);
      if (slot >= chunks) continue;
      const ActivationChunk& chunk = launch.plane[ChunkOfSlot(B::Base::kType, slot)];
      const uint2* from = reinterpret_cast<const uint2*>(chunk.q);
#pragma unroll
      for (int i = 0; i < 4; ++i) q[n][i] = from[i];
      extra[n] = B::Extra(chunk);
    }
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n) {
      const int slot = base + n * static_cast<int>(blockDim.x), lane = slot % kMatvecLanes;
      if (slot >= slots) continue;
      uint8_t* to = shared + slot / kMatvecLanes * kStagedBytes;
      *reinterpret_cast<uint4*>(to + 16 * lane) =
          make_uint4(q[n][0].x, q[n][0].y, q[n][1].x, q[n][1].y);
      *reinterpret_cast<uint4*>(to + kStagedHigh + 16 * lane) =
          make_uint4(q[n][2].x, q[n][2].y, q[n][3].x, q[n][3].y);
      *reinterpret_cast<uint2*>(to + kStagedExtra + 8 * lane) = extra[n];
    }
  }
}

// begin(tile) before a tile's first step, end(tile, sum) with the sum of the lane's row in all 16
// lanes. The plane is staged on the way, by all threads of the block: every warp calls, also with
// no tile.
template <class B, class RowsAt, class Begin, class End>
__device__ __forceinline__ void StreamBulk(const Launch& launch, int tiles, uint8_t* shared,
                                           const RowsAt& rows_at, const Begin& begin,
                                           const End& end) {
  const int warp = UniformWarp(), lane = threadIdx.x % kMatvecLanes;
  const int chunks = static_cast<int>(launch.k / kBlock32), steps = StepsOf(launch.k);
  const int stages = launch.stages;
  const StageShape<B> shape(chunks, steps);
  const uint32_t base = SharedAddress(shared);
  const uint32_t barriers = base + warp * kMostStages * 8;
  uint8_t* plane = shared + kBarrierBytes;
  const uint32_t ring =
      base + kBarrierBytes + PlaneBytes(launch.k) + warp * stages * kStageBytes<B>;
  if (threadIdx.x % 32 == 0) {
    for (int s = 0; s < stages; ++s) InitBarrier(barriers + 8 * s);
    ShowBarriersToCopies();
  }
  __syncwarp();
  BulkLoader<B, RowsAt> load{rows_at, shape, tiles, chunks, steps, stages, ring, barriers};
  for (int s = 0; s < stages; ++s) load.Next();
  WaitForLaunchBefore();
  StageOwnChunks<B>(launch, plane);
  __syncthreads();

  const B lane_of(lane, shape);
  const StagedSlot first(plane, lane);
  const uint32_t mine = ring + threadIdx.x % 32 / kMatvecLanes * shape.Row();
  int stage = 0;
  uint32_t parity = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    begin(tile);
    StagedSlot staged = first;
    float acc = 0;
    for (int step = 0; step < steps; step += B::kGroup) {
      WaitForPhase(barriers + 8 * stage, parity);
      const uint32_t row = mine + stage * kStageBytes<B>;
      const int left = chunks - step * kMatvecLanes;  // of slots, from the group's first on
      const auto add = [&](int u) {
        StagedSlot at = staged;
        at.Move(u * kStagedBytes);
        return lane_of.Add(row, u, at, acc);
      };
      if (left >= B::kGroup * kMatvecLanes) {
#pragma unroll
        for (int u = 0; u < B::kGroup; ++u) acc = add(u);
      } else {
#pragma unroll
        for (int u = 0; u < B::kGroup; ++u) {
          if (u * kMatvecLanes >= left) break;
          const float next = add(u);
          acc = u * kMatvecLanes + lane < left ? next : acc;
        }
      }
      staged.Move(B::kGroup * kStagedBytes);
      __syncwarp();
      load.Next();
      if (++stage == stages) stage = 0, parity ^= 1;
    }
    float sums[1] = {acc};
    SumLanes(sums);
    end(tile, sums[0]);
  }
}

// Outputs of weights first .. last - 1, in the `block`th of `blocks` blocks that share them out.
template <class B>
__device__ __forceinline__ void RunBulk(const Launch& launch, int first, int last, int block,
                                        int blocks, uint8_t* shared) {
  const int lane = threadIdx.x % kMatvecLanes, half = threadIdx.x % 32 / kMatvecLanes;
  int pairs = 0;
  for (int i = first; i < last; ++i) pairs += (static_cast<int>(launch.weight[i].out) + 1) / 2;
  const int begin_at = UniformWarp() * blocks + block, step = blocks * (blockDim.x / 32);
  const int tiles = begin_at < pairs ? (pairs - begin_at + step - 1) / step : 0;
  struct Place {
    const Weight* weight;
    int out;
  };
  const auto place_of = [&](int tile) {
    int pair = begin_at + tile * step, i = first;
    for (; i + 1 < last; ++i) {
      const int here = (static_cast<int>(launch.weight[i].out) + 1) / 2;
      if (pair < here) break;
      pair -= here;
    }
    return Place{&launch.weight[i], 2 * pair};
  };
  const auto rows_at = [&](int tile) {
    const Place p = place_of(tile);
    return RowPair{p.weight->w + p.out * p.weight->row_bytes,
                   p.out + 1 < p.weight->out ? p.weight->row_bytes : 0};
  };
  float bias = 0, residual = 0;  // loaded long before they are wanted
  const auto begin = [&](int tile) {
    const Place p = place_of(tile);
    const int out = p.out + half;
    if (lane != 0 || out >= p.weight->out) return;
    if (p.weight->bias != nullptr) bias = p.weight->bias[out];
    if (p.weight->residual != nullptr) residual = p.weight->residual[out];
  };
  const auto end = [&](int tile, float value) {
    const Place p = place_of(tile);
    const int out = p.out + half;
    if (lane != 0 || out >= p.weight->out) return;
    if (p.weight->bias != nullptr) value = __fadd_rn(value, bias);
    if (p.weight->residual != nullptr) value = __fadd_rn(value, residual);
    p.weight->y[out] = value;
  };
  StreamBulk<B>(launch, tiles, shared, rows_at, begin, end);
}

#endif

template <class B>
__global__ void __launch_bounds__(32 * kMostBulkWarps, 1)
    BulkMatvecKernel(const __grid_constant__ Launch launch) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) uint8_t shared[];
  LetNextLaunchStart();
  RunBulk<B>(launch, 0, launch.count, blockIdx.x, gridDim.x, shared);
#endif
}

// A cluster takes whole chunks of outputs; of each, a block has as many as it has warps: two warps
// two of them, one gate's sums and one up's. The sums wait in shared memory for the end, where they
// meet. So the work is even to a part of a chunk on each multiprocessor.
template <class B>
__global__ void __launch_bounds__(32 * kMostBulkWarps, 1)
    BulkGateUpKernel(const __grid_constant__ Launch launch) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) uint8_t shared[];
  LetNextLaunchStart();
  const int warps = blockDim.x / 32, ranks = kGateUpOutputs / warps;
  float* sums = reinterpret_cast<float*>(  // [tile][output of the block][gate, up]
      shared + BulkBytes<B>(launch.k, warps, launch.stages));
  const int warp = UniformWarp(), lane = threadIdx.x % kMatvecLanes;
  const int rank = static_cast<int>(RankInCluster());
  const int cluster = blockIdx.x / ranks, clusters = gridDim.x / ranks;
  const int outs = static_cast<int>(launch.weight[0].out);
  const int chunks = (outs + kGateUpOutputs - 1) / kGateUpOutputs;
  const int tiles = (chunks - cluster + clusters - 1) / clusters;
  const int column = rank * warps + warp / 2 * 2;  // of a chunk
  const Weight& weight = launch.weight[warp % 2];
  const auto rows_at = [&](int tile) {
    const int out = min((cluster + tile * clusters) * kGateUpOutputs + column, outs - 1);
    return RowPair{weight.w + out * weight.row_bytes, out + 1 < outs ? weight.row_bytes : 0};
  };
  const int place = (warp / 2 * 2 + threadIdx.x % 32 / kMatvecLanes) * 2 + warp % 2;
  const auto end = [&](int tile, float value) {
    if (lane == 0) sums[tile * 2 * warps + place] = value;
  };
  StreamBulk<B>(
      launch, tiles, shared, rows_at, [](int) {}, end);
  ClusterSync();
  const int output = threadIdx.x % 32;
  for (int tile = warp * ranks + rank; tile < tiles; tile += warps * ranks) {
    const uint32_t at = SharedAddress(sums) + (tile * warps + output % warps) * 8;
    const uint2 pair = LoadOfRank(at, output / warps);
    WriteGateUp(launch, static_cast<int64_t>(cluster + tile * clusters) * kGateUpOutputs, 0,
                __uint_as_float(pair.x), __uint_as_float(pair.y));
  }
  ClusterSync();  // nobody leaves while its sums are read
#endif
}

}  // namespace fg::cuda::matvec
