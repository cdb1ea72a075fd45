// Prefill attention through wgmma: 128 query rows of one head a block, two warpgroups with 64 rows
// each; keys in tiles of 128 from position 0 on, in ascending order. While a tile's values are
// multiplied, the next tile's dots become weights (FlashAttention-3's overlap within a warpgroup).
//
// Arithmetic, and why a row's bits are its own: as in attention_many_mma.cu, with tiles of 128 for
// 64. Values that are not finite in a tile that reaches behind some row are counted through
// mma.sync and then cleared where they lie.
#include "kernels/cuda/attention_many.cuh"
#include "kernels/cuda/attention_wgmma.cuh"

namespace fg::cuda {
namespace {

constexpr int kRows = kAttentionTileRows;
constexpr int kKeys = 128;
constexpr int kThreads = 256;

template <int kDim>
constexpr int kTileBytes = kKeys* kDim * 2;  // of keys, values, and as many queries
template <int kDim>
constexpr int kSharedBytes = 5 * kTileBytes<kDim>;  // queries, two stages of keys and values

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// What a thread holds of its warp's 16 rows: rows g and g+8.
template <int kDim>
struct RowState {
  float sums[kDim / 2];             // P*V, as wgmma lays it
  float max[2], total[2];           // of dots; of p, this lane's columns
  float old[2];                     // what sums under the maximum before count for under the newest
  float scale[2];                   // 2^k
  uint32_t weights[kKeys / 16][4];  // p of the newest tile as A operands
};

// Starts the dots of the warpgroup's 64 rows with a tile of keys.
template <int kDim>
__device__ __forceinline__ void StartDots(uint32_t queries, uint32_t keys, float (&s)[64]) {
  WgmmaFence();
#pragma unroll
  for (int k = 0; k < kDim / 16; ++k) {
    const uint32_t on = k / 4 * (128 * 128) + k % 4 * 32;
    WgmmaDots(s, WgmmaMatrix(queries + on, 16), WgmmaMatrix(keys + on, 16), k > 0);
  }
  WgmmaCommit();
}

template <int kDim>
__device__ __forceinline__ void StartValues(uint32_t values, RowState<kDim>& state) {
  WgmmaFence();
#pragma unroll
  for (int k = 0; k < kKeys / 16; ++k) {
    WgmmaValues(state.sums, state.weights[k], WgmmaMatrix(values + k * 16 * 128, 128 * 128));
  }
  WgmmaCommit();
}

// -inf where a key lies behind its row.
__device__ __forceinline__ void Mask(int ahead, float (&s)[64]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const int key = i / 4 * 8 + lane % 4 * 2 + i % 2;
    if (key > lane / 4 + i % 4 / 2 * 8 + ahead) s[i] = __int_as_float(0xFF800000);
  }
}

// Dots to p.
template <int kDim>
__device__ __forceinline__ void Softmax(float (&s)[64], RowState<kDim>& state) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float most = state.max[h];
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
      most = fmaxf(most, fmaxf(s[4 * n + 2 * h], s[4 * n + 2 * h + 1]));
    }
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
    // All dots -inf so far: they weigh nothing beside a finite one that may follow.
    const float origin =
        most == __int_as_float(0xFF800000) ? 0.0f : __fmul_rn(most, state.scale[h]);
    state.old[h] = Exp2Approx(__fmaf_rn(state.max[h], state.scale[h], -origin));
    state.max[h] = most;
    float total = __fmul_rn(state.total[h], state.old[h]);
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
      for (int e = 2 * h; e < 2 * h + 2; ++e) {
        s[4 * n + e] = Exp2Approx(__fmaf_rn(s[4 * n + e], state.scale[h], -origin));
        total = __fadd_rn(total, s[4 * n + e]);
      }
    }
    state.total[h] = total;
  }
}

// Brings the sums of the tiles before to the new maximum, and keeps p as f16. Apart from Softmax,
// in the next step: what stands behind the wait for those sums, ptxas lets pull the wait before the
// exponentials that are to run meanwhile.
template <int kDim>
__device__ __forceinline__ void TakeWeights(const float (&s)[64], RowState<kDim>& state) {
#pragma unroll
  for (int i = 0; i < kDim / 2; ++i) state.sums[i] = __fmul_rn(state.sums[i], state.old[i % 4 / 2]);
#pragma unroll
  for (int k = 0; k < kKeys / 16; ++k) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      state.weights[k][e] = PackHalves(s[8 * k + 2 * e], s[8 * k + 2 * e + 1]);
    }
  }
}

// A tile of values that not all rows see whole, before its product: where it holds values that are
// not finite, the rows that see one become NaN in its column, and it becomes 0. Between tiles, by
// all threads.
template <int kDim>
__device__ void SetApart(unsigned char* tile, uint32_t values, int ahead, RowState<kDim>& state) {
  if (!__syncthreads_or(HoldsNotFinite<kTileBytes<kDim>, kThreads>(tile))) return;
  const AttentionMatrixLane of_b = AttentionLaneOfValues(static_cast<int>(threadIdx.x) % 32);
  values += AttentionTileOffset(of_b.row, of_b.piece, kKeys);
#pragma unroll
  for (int n = 0; n < kDim / 16; ++n) {
    float count[2][4] = {};
    for (int k = 0; k < kKeys / 16; ++k) {
      uint32_t b[4], seen[4];
      LoadMatricesTransposed(AttentionTileMove(values, k * 16, 2 * n, kKeys), b);
      SeenOf(ahead, k, 0, seen);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        MultiplyF16(count[h], seen, NotFinite(b[2 * h]) & 0x3C003C00,
                    NotFinite(b[2 * h + 1]) & 0x3C003C00);
      }
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (count[i / 4][i % 4] != 0.0f) state.sums[8 * n + i] = __int_as_float(0x7FC00000);
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kTileBytes<kDim> / 4; i += kThreads) {
    uint32_t* word = reinterpret_cast<uint32_t*>(tile) + i;
    *word &= ~NotFinite(*word);
  }
  WgmmaSharedFence();
  __syncthreads();
}

template <int kDim>
__device__ void Store(const RowState<kDim>& state, int64_t rows, int64_t stride, float* y) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float total = state.total[h];
    total = __fadd_rn(total, __shfl_xor_sync(~0u, total, 1));
    total = __fadd_rn(total, __shfl_xor_sync(~0u, total, 2));
    const float inverse = __frcp_rn(total);
    const int row = warp * 16 + h * 8 + lane / 4;
    if (row >= rows) continue;
    float* to = y + row * stride + lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < kDim / 8; ++n) {
      *reinterpret_cast<float2*>(to + n * 8) = {Finish(state.sums[4 * n + 2 * h], inverse),
                                                Finish(state.sums[4 * n + 2 * h + 1], inverse)};
    }
  }
}

// The block's places in shared memory and in the cache.
template <int kDim>
struct Tiles {
  unsigned char* shared;
  const uint16_t *keys, *values;
  int64_t stride, limit;
  int count;

  __device__ int KeyOffset(int tile) const { return (1 + tile % 2) * kTileBytes<kDim>; }
  __device__ int ValueOffset(int tile) const { return (3 + tile % 2) * kTileBytes<kDim>; }
  // Tile `tile` of keys and the one before of values: what the same step reads. Those that do not
  // exist are left out.
  __device__ __forceinline__ void Load(int tile) const {
    const uint32_t to = SharedAddress(shared);
    const int64_t first = static_cast<int64_t>(tile) * kKeys;
    if (tile < count) {
      LoadTile<kDim, kKeys, kThreads>(keys, stride, first, limit, to + KeyOffset(tile));
    }
    if (tile > 0 && tile <= count) {
      LoadTile<kDim, kKeys, kThreads>(values, stride, first - kKeys, limit,
                                      to + ValueOffset(tile - 1));
    }
    CopyAsyncCommit();
  }
};

// What was asked for is there for wgmma, and nobody reads the tiles of the step before any more.
__device__ __forceinline__ void Arrive() {
  CopyAsyncWait<0>();
  WgmmaSharedFence();
  __syncthreads();
}

// Adds tile `tile`'s values while the dots of tile + 1 become weights.
template <int kDim, bool kEdge>
__device__ __forceinline__ void Step(const Tiles<kDim>& tiles, int tile, int ahead, int64_t row0,
                                     float (&s)[64], RowState<kDim>& state) {
  Arrive();
  tiles.Load(tile + 2);
  TakeWeights(s, state);
  const uint32_t base = SharedAddress(tiles.shared);
  const uint32_t queries = base + static_cast<uint32_t>(threadIdx.x / 128 * (64 * 128));
  if constexpr (kEdge) {
    if (static_cast<int64_t>(tile) * kKeys + kKeys - 1 > row0) {
      SetApart(tiles.shared + tiles.ValueOffset(tile), base + tiles.ValueOffset(tile), ahead,
               state);
    }
  }
  StartDots<kDim>(queries, base + tiles.KeyOffset(tile + 1), s);
  StartValues(base + tiles.ValueOffset(tile), state);
  WgmmaWait<1>();
  WgmmaHold(s);
  if constexpr (kEdge) Mask(ahead - kKeys, s);
  Softmax(s, state);
  // ptxas pulls the wait before the exponentials, which are to run meanwhile; it does not pull it
  // before a barrier, and this one hangs on all of them. A sum of weights is never negative.
  const bool never = __fadd_rn(state.total[0], state.total[1]) < 0.0f;
  WgmmaBarrier(static_cast<int>(threadIdx.x) / 128 + (never ? 3 : 1));
  WgmmaWait<0>();
  WgmmaHold(state.sums);
}

template <int kDim>
__device__ __forceinline__ void Attend(const AttentionArgs& args, unsigned char* shared) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  // The longest blocks first: the last ones to start are the short ones.
  const int64_t row0 = (static_cast<int64_t>(gridDim.y) - 1 - blockIdx.y) * kRows;
  const int64_t rows = min(args.rows - row0, static_cast<int64_t>(kRows));
  const int64_t head = blockIdx.x, kv_head = head / (args.heads / args.kv_heads);
  const int64_t stride = args.heads * kDim;
  const int64_t position0 = args.positions[0] + row0;
  const int64_t limit = position0 + rows;
  const Tiles<kDim> tiles = {shared,
                             args.keys + kv_head * kDim,
                             args.values + kv_head * kDim,
                             args.kv_heads * kDim,
                             limit,
                             static_cast<int>((limit + kKeys - 1) / kKeys)};
  tiles.Load(0);
  const float mine =
      LoadQueries<kDim, 16>(args.q + row0 * stride + head * kDim, stride, rows, shared);
  RowState<kDim> state;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    state.max[h] = __int_as_float(0xFF800000);
    state.total[h] = 0.0f;
    state.scale[h] = __shfl_sync(~0u, mine, h * 8 + lane / 4);
  }
#pragma unroll
  for (int i = 0; i < kDim / 2; ++i) state.sums[i] = 0.0f;

  Arrive();
  tiles.Load(1);
  const uint32_t base = SharedAddress(shared);
  float s[64];
  StartDots<kDim>(base + static_cast<uint32_t>(threadIdx.x / 128 * (64 * 128)),
                  base + tiles.KeyOffset(0), s);
  WgmmaWait<0>();
  WgmmaHold(s);
  // Position of the warp's first row less the first key of the tile at hand.
  int ahead = static_cast<int>(position0) + warp * 16;
  Mask(ahead, s);
  Softmax(s, state);
  // Tiles whose successor all rows of the block see whole, then those at the edge.
  int tile = 0;
  for (; tile + 1 < tiles.count && static_cast<int64_t>(tile + 2) * kKeys - 1 <= position0;
       ++tile, ahead -= kKeys) {
    Step<kDim, false>(tiles, tile, ahead, position0, s, state);
  }
  for (; tile + 1 < tiles.count; ++tile, ahead -= kKeys) {
    Step<kDim, true>(tiles, tile, ahead, position0, s, state);
  }
  Arrive();
  TakeWeights(s, state);
  SetApart(shared + tiles.ValueOffset(tile), base + tiles.ValueOffset(tile), ahead, state);
  StartValues(base + tiles.ValueOffset(tile), state);
  WgmmaWait<0>();
  WgmmaHold(state.sums);
  Store<kDim>(state, rows, stride, args.y + row0 * stride + head * kDim);
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

template <int kDim>
__global__ void __launch_bounds__(kThreads, 1) AttentionManyKernel(AttentionArgs args) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char shared[];
  Attend<kDim>(args, shared);
#endif
}

template <int kDim>
cudaError_t Launch(const AttentionArgs& args, cudaStream_t stream) {
  static const cudaError_t allowed = cudaFuncSetAttribute(
      AttentionManyKernel<kDim>, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes<kDim>);
  if (allowed != cudaSuccess) return allowed;
  const dim3 grid(static_cast<unsigned>(args.heads),
                  static_cast<unsigned>((args.rows + kRows - 1) / kRows));
  AttentionManyKernel<kDim><<<grid, kThreads, kSharedBytes<kDim>, stream>>>(args);
  return cudaGetLastError();
}

}  // namespace

bool HasManyWgmma() {
  // Machine code of another build, or what the driver makes of its PTX, holds an empty kernel.
  static const bool has = [] {
    cudaFuncAttributes attributes = {};
    if (cudaFuncGetAttributes(&attributes, AttentionManyKernel<128>) != cudaSuccess) {
      (void)cudaGetLastError();
      return false;
    }
    return attributes.binaryVersion == 90 && attributes.ptxVersion == 90;
  }();
  return has;
}

cudaError_t LaunchManyWgmma(const AttentionArgs& args, cudaStream_t stream) {
  if (!HasManyWgmma()) return cudaErrorNotSupported;
  return args.head_dim == 64 ? Launch<64>(args, stream) : Launch<128>(args, stream);
}

}  // namespace fg::cuda
