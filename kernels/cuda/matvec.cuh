// The one-row kernel over a quantized type Q. A warp holds two rows of weights, 16 lanes each
// (matvec_order.h); its lanes keep Q::kRing pieces of 16 bytes and more in flight, across the ends
// of rows too. The activation plane lies in shared memory, laid out by step and lane, so that 16
// lanes read 16 neighbouring pieces.
//
// Q gives: kType, kRing and kManyRing (pieces in flight with one row and with several), kBlocks
// (blocks on a multiprocessor), Piece (what a lane loads for one slot), Source (where a lane's next
// piece lies, with Prefetch, Load and Next), Extra (two words that a slot wants of the plane beside
// the values) and Use.
#pragma once

#include "kernels/cuda/exp.cuh"
#include "kernels/cuda/matvec_launch.cuh"
#include "kernels/cuda/matvec_order.h"
#include "kernels/cuda/quantize.cuh"

namespace fg::cuda::matvec {

constexpr unsigned kAllLanes = 0xFFFFFFFFu;
constexpr int kBlocksOfMany = 2;  // on a multiprocessor, in the form for several rows
constexpr int kTileRows = kThreads / kMatvecLanes;  // outputs that a block has in hand at a time

// Staged activations: for each step, for each row, the 16 slots' low halves, their high halves and
// their extras; zeros for slots beyond the last chunk.
constexpr int kStagedBytes = kMatvecLanes * static_cast<int>(sizeof(ActivationChunk));
constexpr int kStagedHigh = 16 * kMatvecLanes, kStagedExtra = 32 * kMatvecLanes;

constexpr int StepsOf(int64_t k) {
  return static_cast<int>((k / kBlock32 + kMatvecLanes - 1) / kMatvecLanes);
}

// A lane's place in a step. Addresses of shared memory, for the compiler would derive them anew in
// each step from a pointer.
struct StagedSlot {
  uint32_t values, extras;

  __device__ StagedSlot(const uint8_t* shared, int lane)
      : values(static_cast<uint32_t>(__cvta_generic_to_shared(shared)) + 16 * lane),
        extras(values + kStagedExtra - 8 * lane) {}
  __device__ void Move(int bytes) {
    values += bytes;
    extras += bytes;
  }
  __device__ static uint4 Load16(uint32_t at) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(at));
    return v;
  }
  __device__ uint4 Low(int row) const { return Load16(values + row * kStagedBytes); }
  __device__ uint4 High(int row) const { return Load16(values + row * kStagedBytes + kStagedHigh); }
  __device__ uint2 Extra(int row) const {
    uint2 v;
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                 : "=r"(v.x), "=r"(v.y)
                 : "r"(extras + row * kStagedBytes));
    return v;
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

// The plane's rows first_row .. first_row + kRows - 1, the last row again for those beyond it.
template <class Q, int kRows>
__device__ void StageRows(const Launch& launch, int first_row, uint8_t* shared) {
  const int chunks = static_cast<int>(launch.k / kBlock32);
  const int slots = StepsOf(launch.k) * kMatvecLanes;
  for (int r = 0; r < kRows; ++r) {
    const ActivationChunk* row =
        launch.plane + static_cast<int64_t>(min(first_row + r, launch.rows - 1)) * chunks;
    for (int slot = threadIdx.x; slot < slots; slot += kThreads) {
      const int lane = slot % kMatvecLanes;
      uint8_t* to = shared + (slot / kMatvecLanes * kRows + r) * kStagedBytes;
      uint2 low[2] = {}, high[2] = {}, extra = {};
      if (slot < chunks) {
        const HalfChunk a = LowHalf(Q::kType, slot), b = HighHalf(Q::kType, slot);
        const uint2* from_a = reinterpret_cast<const uint2*>(row[a.chunk].q + 16 * a.half);
        const uint2* from_b = reinterpret_cast<const uint2*>(row[b.chunk].q + 16 * b.half);
        low[0] = from_a[0], low[1] = from_a[1], high[0] = from_b[0], high[1] = from_b[1];
        extra = Q::Extra(row, slot);
      }
      *reinterpret_cast<uint4*>(to + 16 * lane) =
          make_uint4(low[0].x, low[0].y, low[1].x, low[1].y);
      *reinterpret_cast<uint4*>(to + kStagedHigh + 16 * lane) =
          make_uint4(high[0].x, high[0].y, high[1].x, high[1].y);
      *reinterpret_cast<uint2*>(to + kStagedExtra + 8 * lane) = extra;
    }
  }
}

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

// A lane's way through its rows of weights: slot by slot, then on to the next tile's row.
template <class Q, class RowAt>
struct Cursor {
  const RowAt& row_at;
  int chunks, slots, tiles, lane;
  int slot, tile = 0;
  typename Q::Source source;

  __device__ Cursor(const RowAt& rows, int chunk_count, int tile_count)
      : row_at(rows),
        chunks(chunk_count),
        slots((chunk_count + kMatvecLanes - 1) / kMatvecLanes * kMatvecLanes),
        tiles(tile_count),
        lane(threadIdx.x % kMatvecLanes),
        slot(lane),
        source(rows(0), chunk_count, lane) {}
  __device__ bool Ended() const { return tile >= tiles; }
  __device__ bool Holds() const { return slot < chunks; }
  __device__ void Next() {
    source.Next();
    slot += kMatvecLanes;
    if (slot < slots) return;
    slot = lane;
    if (++tile < tiles) source = typename Q::Source(row_at(tile), chunks, lane);
  }
};

// Runs through `tiles` (1 or more) tiles. row_at(tile): this lane's row of weights; begin(tile)
// before a tile's first step, end(tile, acc) with its sums in all 16 lanes. `shared` is staged on
// the way.
template <class Q, int kRows, class RowAt, class Begin, class End>
__device__ __forceinline__ void StreamTiles(const Launch& launch, int first_row, int tiles,
                                            uint8_t* shared, const RowAt& row_at,
                                            const Begin& begin, const End& end) {
  constexpr int kRing = kRows == 1 ? Q::kRing : Q::kManyRing;
  const int chunks = static_cast<int>(launch.k / kBlock32);
  Cursor<Q, RowAt> load(row_at, chunks, tiles);
  {
    Cursor<Q, RowAt> ahead = load;
    for (int u = 0; u < kRing && !ahead.Ended(); ++u, ahead.Next()) {
      if (ahead.Holds()) ahead.source.Prefetch();
    }
  }
  WaitForLaunchBefore();
  typename Q::Piece ring[kRing] = {};
  const auto load_next = [&](typename Q::Piece& piece) {
    if (load.Ended()) return;
    if (load.Holds()) piece = load.source.Load();
    load.Next();
  };
#pragma unroll
  for (int u = 0; u < kRing; ++u) load_next(ring[u]);
  StageRows<Q, kRows>(launch, first_row, shared);
  __syncthreads();

  const int lane = load.lane, slots = load.slots;
  const StagedSlot first(shared, lane);
  StagedSlot staged = first;
  float acc[kRows] = {};
  int slot = lane, tile = 0;
  begin(0);
  for (;;) {
#pragma unroll
    for (int u = 0; u < kRing; ++u) {
      Q::template Use<kRows>(ring[u], staged, slot < chunks, acc);
      load_next(ring[u]);
      staged.Move(kRows * kStagedBytes);
      slot += kMatvecLanes;
      if (slot >= slots) {
        SumLanes(acc);
        end(tile, acc);
        if (++tile == tiles) return;
        begin(tile);
        slot = lane;
        staged = first;
#pragma unroll
        for (int r = 0; r < kRows; ++r) acc[r] = 0;
      }
    }
  }
}

// Outputs of one weight; `block` counts within the weight.
template <class Q, int kRows>
__device__ __forceinline__ void RunMatvec(const Launch& launch, const Weight& weight, int block,
                                          int group, uint8_t* shared) {
  const int lane = threadIdx.x % kMatvecLanes;
  const int first_row = group * kRows;
  const int outs = static_cast<int>(weight.out);
  const int first_out = block * launch.tiles * kTileRows;
  const int tiles = min((outs - first_out + kTileRows - 1) / kTileRows, launch.tiles);
  const int first_of_lane = first_out + static_cast<int>(threadIdx.x) / kMatvecLanes;
  const auto row_at = [&](int tile) {
    return weight.w + min(first_of_lane + tile * kTileRows, outs - 1) * weight.row_bytes;
  };
  // Lane r of the 16 writes row r; what is added is loaded long before it is wanted.
  const int row = first_row + lane;
  const int writes_below = lane < kRows && row < launch.rows ? outs : 0;
  const int64_t row_start = static_cast<int64_t>(row) * outs;
  float bias = 0, residual = 0;
  const auto begin = [&](int tile) {
    const int out = first_of_lane + tile * kTileRows;
    if (out >= writes_below) return;
    if (weight.bias != nullptr) bias = weight.bias[out];
    if (weight.residual != nullptr) residual = weight.residual[row_start + out];
  };
  const auto end = [&](int tile, const float(&acc)[kRows]) {
    const int out = first_of_lane + tile * kTileRows;
    if (out >= writes_below) return;
    float value = acc[0];
#pragma unroll
    for (int r = 1; r < kRows; ++r) value = lane == r ? acc[r] : value;
    if (weight.bias != nullptr) value = __fadd_rn(value, bias);
    if (weight.residual != nullptr) value = __fadd_rn(value, residual);
    weight.y[row_start + out] = value;
  };
  StreamTiles<Q, kRows>(launch, first_row, tiles, shared, row_at, begin, end);
}

__device__ inline int WeightOfBlock(const Launch& launch, int block) {
  int i = 0;
  while (i + 1 < launch.count && block >= launch.weight[i + 1].first_block) ++i;
  return i;
}

template <class Q, int kRows>
__global__ void __launch_bounds__(kThreads, kRows == 1 ? Q::kBlocks : kBlocksOfMany)
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
__global__ void __launch_bounds__(kThreads, kRows == 1 ? Q::kBlocks : kBlocksOfMany)
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
  return static_cast<size_t>(kRows) * StepsOf(launch.k) * kStagedBytes;
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
  const int64_t blocks =
      ShareOutBlocks(kTileRows, launch.rows == 1 ? Q::kBlocks : kBlocksOfMany, &launch);
  return StartEither(MatvecKernel<Q, 1>, one, MatvecKernel<Q, kManyRows>, many, blocks, &launch,
                     stream);
}

}  // namespace fg::cuda::matvec
