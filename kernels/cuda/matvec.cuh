// The one-row kernel over a quantized type Q. A warp holds two rows of weights, 16 lanes each
// (matvec_order.h); its lanes keep Q::kRing pieces of 16 bytes and more in flight, across the ends
// of rows too. The activation plane lies in shared memory, laid out by slot, so that 16 lanes read
// 16 neighbouring pieces.
//
// Q gives: kType, kRing and kManyRing (pieces in flight with one row and with several), kBlocks
// (blocks on a multiprocessor), Piece (what a lane loads for one slot), Load, Prefetch, Extra (two
// words that a slot wants of the plane beside the values) and Use.
#pragma once

#include "kernels/cuda/exp.cuh"
#include "kernels/cuda/matvec_launch.cuh"
#include "kernels/cuda/matvec_order.h"
#include "kernels/cuda/quantize.cuh"

namespace fg::cuda::matvec {

constexpr unsigned kAllLanes = 0xFFFFFFFFu;
constexpr int kTileRows = kThreads / kMatvecLanes;  // outputs that a block has in hand at a time

// Staged rows of activations: of each row the slots' low halves, their high halves, their extras.
struct Staged {
  const uint8_t* base;
  int chunks;

  __host__ __device__ static int Stride(int chunks) {
    return (chunks * static_cast<int>(sizeof(ActivationChunk)) + 15) / 16 * 16;
  }
  __device__ uint4 Low(int row, int slot) const {
    return *reinterpret_cast<const uint4*>(base + row * Stride(chunks) + 16 * slot);
  }
  __device__ uint4 High(int row, int slot) const {
    return *reinterpret_cast<const uint4*>(base + row * Stride(chunks) + 16 * (chunks + slot));
  }
  __device__ uint2 Extra(int row, int slot) const {
    return *reinterpret_cast<const uint2*>(base + row * Stride(chunks) + 32 * chunks + 8 * slot);
  }
};

__device__ inline uint4 LoadWeight16(const uint8_t* at) {
  return __ldg(reinterpret_cast<const uint4*>(at));
}
__device__ inline uint32_t LoadWeight2(const uint8_t* at) {
  return __ldg(reinterpret_cast<const unsigned short*>(at));
}
__device__ inline float HalfBits(uint32_t bits) {
  return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
}

// acc + the products of four unsigned bytes of a with four signed ones of b.
__device__ inline int DotUnsigned(uint32_t a, uint32_t b, int acc) {
  int sum;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(acc));
  return sum;
}
__device__ inline int DotUnsigned(uint4 a, uint4 b, int acc) {
  acc = DotUnsigned(a.x, b.x, acc);
  acc = DotUnsigned(a.y, b.y, acc);
  acc = DotUnsigned(a.z, b.z, acc);
  return DotUnsigned(a.w, b.w, acc);
}
__device__ inline uint4 And(uint4 a, uint32_t mask) {
  return make_uint4(a.x & mask, a.y & mask, a.z & mask, a.w & mask);
}

// The integer sum of the chunk that this lane's slot keeps: the lane has a half of the low and a
// half of the high chunk, its neighbour the others.
__device__ inline int JoinHalves(int low, int high) {
  const bool odd = (threadIdx.x & 1) != 0;
  const int kept = odd ? high : low;
  return kept + __shfl_xor_sync(kAllLanes, odd ? low : high, 1);
}

__device__ inline int SumOfChunk(const ActivationChunk& chunk) {
  return chunk.sum[0] + chunk.sum[1];
}

// Rows first_row .. first_row + kRows - 1 of the plane, the last row again for those beyond it.
template <class Q, int kRows>
__device__ void StageRows(const Launch& launch, int first_row, uint8_t* shared) {
  const int chunks = static_cast<int>(launch.k / kBlock32);
  for (int r = 0; r < kRows; ++r) {
    const ActivationChunk* row =
        launch.plane + static_cast<int64_t>(min(first_row + r, launch.rows - 1)) * chunks;
    uint8_t* to = shared + r * Staged::Stride(chunks);
    for (int slot = threadIdx.x; slot < chunks; slot += kThreads) {
      const HalfChunk low = LowHalf(Q::kType, slot), high = HighHalf(Q::kType, slot);
      const uint2* from_low = reinterpret_cast<const uint2*>(row[low.chunk].q + 16 * low.half);
      const uint2* from_high = reinterpret_cast<const uint2*>(row[high.chunk].q + 16 * high.half);
      const uint2 a = from_low[0], b = from_low[1], c = from_high[0], d = from_high[1];
      *reinterpret_cast<uint4*>(to + 16 * slot) = make_uint4(a.x, a.y, b.x, b.y);
      *reinterpret_cast<uint4*>(to + 16 * (chunks + slot)) = make_uint4(c.x, c.y, d.x, d.y);
      *reinterpret_cast<uint2*>(to + 32 * chunks + 8 * slot) = Q::Extra(row, slot);
    }
  }
}

// Where a warp's loads are in its tiles.
struct Cursor {
  int tile, step;
  const uint8_t* row;
};

template <int kRows>
__device__ void SumLanes(float (&acc)[kRows]) {
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int step = kMatvecLanes / 2; step > 0; step /= 2) {
      acc[r] = __fadd_rn(acc[r], __shfl_xor_sync(kAllLanes, acc[r], step));
    }
  }
}

// Runs through `tiles` tiles. row_at(tile): this lane's row of weights; begin(tile) before a tile's
// first step, end(tile, acc) with its sums in all 16 lanes. `shared` is staged on the way.
template <class Q, int kRows, class RowAt, class Begin, class End>
__device__ void StreamTiles(const Launch& launch, int first_row, int tiles, uint8_t* shared,
                            const RowAt& row_at, const Begin& begin, const End& end) {
  constexpr int kRing = kRows == 1 ? Q::kRing : Q::kManyRing;
  const int chunks = static_cast<int>(launch.k / kBlock32);
  const int steps = (chunks + kMatvecLanes - 1) / kMatvecLanes;
  const int lane = threadIdx.x % kMatvecLanes;
  const Staged staged = {shared, chunks};
  // A lane beyond the last chunk repeats the first block's slot and keeps its acc.
  const auto slot_of = [&](int step) {
    const int slot = step * kMatvecLanes + lane;
    return slot < chunks ? slot : lane % SlotsOfBlock(Q::kType);
  };
  const auto advance = [&](Cursor& at) {
    if (++at.step < steps) return;
    at.step = 0;
    if (++at.tile < tiles) at.row = row_at(at.tile);
  };
  Cursor load = {0, 0, row_at(0)};
  Cursor ahead = load;
  for (int u = 0; u < kRing && ahead.tile < tiles; ++u, advance(ahead)) {
    Q::Prefetch(ahead.row, chunks, slot_of(ahead.step));
  }
  WaitForLaunchBefore();
  typename Q::Piece ring[kRing];
  const auto load_next = [&](typename Q::Piece& piece) {
    if (load.tile >= tiles) return;
    piece = Q::Load(load.row, chunks, slot_of(load.step));
    advance(load);
  };
#pragma unroll
  for (int u = 0; u < kRing; ++u) load_next(ring[u]);
  StageRows<Q, kRows>(launch, first_row, shared);
  __syncthreads();

  float acc[kRows] = {};
  int step = 0, tile = 0;
  while (tile < tiles) {
#pragma unroll
    for (int u = 0; u < kRing; ++u) {
      if (tile < tiles) {
        if (step == 0) begin(tile);
        Q::template Use<kRows>(ring[u], staged, slot_of(step), step * kMatvecLanes + lane < chunks,
                               acc);
        load_next(ring[u]);
        if (++step == steps) {
          SumLanes(acc);
          end(tile, acc);
          step = 0;
          ++tile;
#pragma unroll
          for (int r = 0; r < kRows; ++r) acc[r] = 0;
        }
      }
    }
  }
}

// Outputs of one weight; `block` counts within the weight.
template <class Q, int kRows>
__device__ void RunMatvec(const Launch& launch, const Weight& weight, int block, int group,
                          uint8_t* shared) {
  const int lane = threadIdx.x % kMatvecLanes;
  const int first_row = group * kRows;
  const int64_t first_out = static_cast<int64_t>(block) * launch.tiles * kTileRows;
  const int64_t left = (weight.out - first_out + kTileRows - 1) / kTileRows;
  const int tiles = static_cast<int>(left < launch.tiles ? left : launch.tiles);
  const auto out_of = [&](int tile) {
    return first_out + tile * kTileRows + threadIdx.x / kMatvecLanes;
  };
  const auto row_at = [&](int tile) {
    const int64_t out = out_of(tile);
    return weight.w + (out < weight.out ? out : weight.out - 1) * weight.row_bytes;
  };
  // Lane r of the 16 writes row r; what is added is loaded long before it is wanted.
  const int row = first_row + lane;
  const bool writes = lane < kRows && row < launch.rows;
  float bias = 0, residual = 0;
  const auto begin = [&](int tile) {
    const int64_t out = out_of(tile);
    if (!writes || out >= weight.out) return;
    if (weight.bias != nullptr) bias = weight.bias[out];
    if (weight.residual != nullptr) residual = weight.residual[row * weight.out + out];
  };
  const auto end = [&](int tile, const float(&acc)[kRows]) {
    const int64_t out = out_of(tile);
    if (!writes || out >= weight.out) return;
    float value = acc[0];
#pragma unroll
    for (int r = 1; r < kRows; ++r) value = lane == r ? acc[r] : value;
    if (weight.bias != nullptr) value = __fadd_rn(value, bias);
    if (weight.residual != nullptr) value = __fadd_rn(value, residual);
    weight.y[row * weight.out + out] = value;
  };
  StreamTiles<Q, kRows>(launch, first_row, tiles, shared, row_at, begin, end);
}

__device__ inline int WeightOfBlock(const Launch& launch, int block) {
  int i = 0;
  while (i + 1 < launch.count && block >= launch.weight[i + 1].first_block) ++i;
  return i;
}

template <class Q, int kRows>
__global__ void __launch_bounds__(kThreads, Q::kBlocks)
    MatvecKernel(const __grid_constant__ Launch launch) {
  extern __shared__ __align__(16) uint8_t shared[];
  LetNextLaunchStart();
  const int block = blockIdx.x / launch.groups, group = blockIdx.x % launch.groups;
  const Weight& weight = launch.weight[WeightOfBlock(launch, block)];
  RunMatvec<Q, kRows>(launch, weight, block - weight.first_block, group, shared);
}

// One row of gate's and up's sums of 32 outputs, a warp's lanes in their order, to y and chunks.
__device__ inline void WriteGateUp(const Launch& launch, int64_t first_out, int row, float g,
                                   float u) {
  const int64_t out = first_out + threadIdx.x % 32;
  const int64_t outs = launch.weight[0].out;
  const float value = SwigluOf(g, u);
  if (launch.y != nullptr && out < outs) launch.y[row * outs + out] = value;
  if (launch.chunks != nullptr) {
    QuantizeWarp(value, launch.chunks + (row * outs + first_out) / kBlock32);
  }
}

template <class Q, int kRows>
__global__ void __launch_bounds__(kThreads, Q::kBlocks)
    GateUpKernel(const __grid_constant__ Launch launch) {
  extern __shared__ __align__(16) uint8_t shared[];
  __shared__ float sums[2][kRows][kGateUpOutputs];
  LetNextLaunchStart();
  const int lane = threadIdx.x % kMatvecLanes;
  const int first_row = blockIdx.x % launch.groups * kRows;
  const int64_t first_out = static_cast<int64_t>(blockIdx.x / launch.groups) * kGateUpOutputs;
  // Tiles in turn: gate's outputs 0-15, up's, gate's outputs 16-31, up's.
  const auto column = [](int tile) {
    return tile / 2 * kTileRows + static_cast<int>(threadIdx.x) / kMatvecLanes;
  };
  const auto row_at = [&](int tile) {
    const Weight& weight = launch.weight[tile % 2];
    const int64_t out = first_out + column(tile);
    return weight.w + (out < weight.out ? out : weight.out - 1) * weight.row_bytes;
  };
  const auto end = [&](int tile, const float(&acc)[kRows]) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (lane == r) sums[tile % 2][r][column(tile)] = acc[r];
    }
  };
  StreamTiles<Q, kRows>(
      launch, first_row, 2 * kGateUpOutputs / kTileRows, shared, row_at, [](int) {}, end);
  __syncthreads();
  const int warp = threadIdx.x / 32, column_of_lane = threadIdx.x % 32;
  if (warp >= kRows || first_row + warp >= launch.rows) return;
  WriteGateUp(launch, first_out, first_row + warp, sums[0][warp][column_of_lane],
              sums[1][warp][column_of_lane]);
}

template <int kRows>
size_t SharedBytes(const Launch& launch) {
  return static_cast<size_t>(kRows) * Staged::Stride(static_cast<int>(launch.k / kBlock32));
}

template <class Kernel>
cudaError_t StartBlocks(Kernel* kernel, const Prepared& prepared, int64_t blocks, int rows,
                        size_t shared, Launch* launch, cudaStream_t stream) {
  launch->groups = (launch->rows + rows - 1) / rows;
  return Start(kernel, prepared, blocks * launch->groups, shared, *launch, stream);
}

// A kernel of one row and one of several.
template <class Kernel>
cudaError_t StartEither(Kernel* one, const Prepared& one_prepared, Kernel* many,
                        const Prepared& many_prepared, int64_t blocks, Launch* launch,
                        cudaStream_t stream) {
  if (Facts().error != cudaSuccess) return Facts().error;
  // What both kernels hold for themselves at most: the sums of GateUp.
  constexpr size_t kOwn = 2 * kManyRows * kGateUpOutputs * sizeof(float);
  const size_t most = static_cast<size_t>(Facts().shared_bytes) - kOwn;
  const size_t shared = SharedBytes<1>(*launch), many_shared = SharedBytes<kManyRows>(*launch);
  if (launch->rows > 1 && many_shared <= most) {
    return StartBlocks(many, many_prepared, blocks, kManyRows, many_shared, launch, stream);
  }
  if (shared > most) return cudaErrorInvalidValue;
  return StartBlocks(one, one_prepared, blocks, 1, shared, launch, stream);
}

template <class Q>
cudaError_t StartQuantized(Launch launch, bool gate_up, cudaStream_t stream) {
  if (gate_up) {
    static const Prepared one = Prepare(GateUpKernel<Q, 1>);
    static const Prepared many = Prepare(GateUpKernel<Q, kManyRows>);
    const int64_t blocks = (launch.weight[0].out + kGateUpOutputs - 1) / kGateUpOutputs;
    return StartEither(GateUpKernel<Q, 1>, one, GateUpKernel<Q, kManyRows>, many, blocks, &launch,
                       stream);
  }
  static const Prepared one = Prepare(MatvecKernel<Q, 1>);
  static const Prepared many = Prepare(MatvecKernel<Q, kManyRows>);
  const int64_t blocks = ShareOutBlocks(kTileRows, &launch);
  return StartEither(MatvecKernel<Q, 1>, one, MatvecKernel<Q, kManyRows>, many, blocks, &launch,
                     stream);
}

}  // namespace fg::cuda::matvec
