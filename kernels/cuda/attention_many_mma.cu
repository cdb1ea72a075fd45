// Prefill attention through mma.sync (FlashAttention-2): 128 query rows of one head a block, four
// warps with 32 rows each; keys in tiles of 64 from position 0 on, in ascending order.
//
// Arithmetic. q * (log2(e)/sqrt(head_dim)) * 2^-k is rounded to f16, k such that the row's largest
// magnitude lies in [2^14, 2^15) (0 for a row with a NaN or an infinity); products of f16 are
// summed in f32. With m the row's running maximum of dots, p = ex2.approx((dot - m) * 2^k), exact
// but for one rounding inside ex2's operand; p is summed in f32 and rounded to f16 for P*V, f32
// sums; one division at the end. So GPU and CPU agree within a class, not in bits.
//
// A row's bits are a function of its position, its q and the cache: tiles start at multiples of 64
// whatever row the block starts with; a key behind the row has p = +0 and adds nothing, and a tile
// that lies behind all rows of a warp is left out; the tensor core computes a row of its tile from
// that row and the other operand alone, the same in each slot.
//
// A score that is NaN reaches the row's sum of p, and so all its values. A value (of V) that is not
// finite makes its column NaN in every row that sees it, and in no other: where a tile reaches
// behind some row, such values are taken out and counted apart. Keys and values behind the last row
// are never read.
#include "kernels/cuda/attention_many.cuh"

namespace fg::cuda {
namespace {

constexpr int kRows = kAttentionTileRows;
constexpr int kKeys = kAttentionTileKeys;
constexpr int kThreads = 128;

template <int kDim>
struct Tile {
  static constexpr int kQueryBytes = kRows * kDim * 2;
  static constexpr int kKeyBytes = kKeys * kDim * 2;
  static constexpr int kBytes = kQueryBytes + 4 * kKeyBytes;  // two stages of keys and values
};

// What a warp holds of its 32 rows: two operand tiles of 16, lane 4g+t rows g and g+8 of each.
template <int kDim>
struct RowState {
  float sums[2][kDim / 8][4] = {};  // P*V
  float max[2][2], total[2][2];     // of dots; of p, this lane's columns
  float scale[2][2];                // 2^k
};

using Scores = float[2][kKeys / 8][4];

// Dots of the warp's rows with a tile of keys.
template <int kDim>
__device__ __forceinline__ void Dots(uint32_t queries, uint32_t keys, Scores& s) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const AttentionMatrixLane of_a = AttentionLaneOfA(lane), of_b = AttentionLaneOfKeys(lane);
  queries += AttentionTileOffset(warp * 32 + of_a.row, of_a.piece, kRows);
  keys += AttentionTileOffset(of_b.row, of_b.piece, kKeys);
#pragma unroll
  for (int m = 0; m < 2; ++m) {
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) s[m][n][0] = s[m][n][1] = s[m][n][2] = s[m][n][3] = 0.0f;
  }
#pragma unroll
  for (int k = 0; k < kDim / 16; ++k) {
    uint32_t a[2][4];
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      LoadMatrices(AttentionTileMove(queries, m * 16, 2 * k, kRows), a[m]);
    }
#pragma unroll
    for (int n = 0; n < kKeys / 16; ++n) {
      uint32_t b[4];
      LoadMatrices(AttentionTileMove(keys, n * 16, 2 * k, kKeys), b);
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        MultiplyF16(s[m][2 * n], a[m], b[0], b[1]);
        MultiplyF16(s[m][2 * n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

// -inf where a key lies behind its row. `ahead`: the warp's first row's position less the tile's
// first key.
__device__ __forceinline__ void Mask(int ahead, Scores& s) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int m = 0; m < 2; ++m) {
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = m * 16 + lane / 4 + e / 2 * 8;
        const int key = n * 8 + lane % 4 * 2 + e % 2;
        if (key > row + ahead) s[m][n][e] = __int_as_float(0xFF800000);
      }
    }
  }
}

// Dots to p, with the row's maximum, sums and values brought to the new maximum.
template <int kDim>
__device__ __forceinline__ void Softmax(Scores& s, RowState<kDim>& state) {
#pragma unroll
  for (int m = 0; m < 2; ++m) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float most = state.max[m][h];
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) {
        most = fmaxf(most, fmaxf(s[m][n][2 * h], s[m][n][2 * h + 1]));
      }
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
      const float scale = state.scale[m][h];
      // All dots -inf so far: they weigh nothing beside a finite one that may follow.
      const float origin = most == __int_as_float(0xFF800000) ? 0.0f : __fmul_rn(most, scale);
      const float old = Exp2Approx(__fmaf_rn(state.max[m][h], scale, -origin));
      state.max[m][h] = most;
      float total = __fmul_rn(state.total[m][h], old);
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
        for (int e = 2 * h; e < 2 * h + 2; ++e) {
          s[m][n][e] = Exp2Approx(__fmaf_rn(s[m][n][e], scale, -origin));
          total = __fadd_rn(total, s[m][n][e]);
        }
      }
      state.total[m][h] = total;
#pragma unroll
      for (int n = 0; n < kDim / 8; ++n) {
        state.sums[m][n][2 * h] = __fmul_rn(state.sums[m][n][2 * h], old);
        state.sums[m][n][2 * h + 1] = __fmul_rn(state.sums[m][n][2 * h + 1], old);
      }
    }
  }
}

// p of 16 keys as the A operand of both row tiles.
__device__ __forceinline__ void WeightsOf(const Scores& s, int k, uint32_t (&a)[2][4]) {
#pragma unroll
  for (int m = 0; m < 2; ++m) {
    a[m][0] = PackHalves(s[m][2 * k][0], s[m][2 * k][1]);
    a[m][1] = PackHalves(s[m][2 * k][2], s[m][2 * k][3]);
    a[m][2] = PackHalves(s[m][2 * k + 1][0], s[m][2 * k + 1][1]);
    a[m][3] = PackHalves(s[m][2 * k + 1][2], s[m][2 * k + 1][3]);
  }
}

template <int kDim>
__device__ __forceinline__ void AddValues(uint32_t values, const Scores& s, RowState<kDim>& state) {
  const AttentionMatrixLane of_b = AttentionLaneOfValues(static_cast<int>(threadIdx.x) % 32);
  values += AttentionTileOffset(of_b.row, of_b.piece, kKeys);
#pragma unroll
  for (int k = 0; k < kKeys / 16; ++k) {
    uint32_t a[2][4];
    WeightsOf(s, k, a);
#pragma unroll
    for (int n = 0; n < kDim / 16; ++n) {
      uint32_t b[4];
      LoadMatricesTransposed(AttentionTileMove(values, k * 16, 2 * n, kKeys), b);
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        MultiplyF16(state.sums[m][2 * n], a[m], b[0], b[1]);
        MultiplyF16(state.sums[m][2 * n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

// AddValues for a tile that not all rows see whole and that holds values which are not finite.
template <int kDim>
__device__ void AddValuesApart(uint32_t values, int ahead, const Scores& s, RowState<kDim>& state) {
  const AttentionMatrixLane of_b = AttentionLaneOfValues(static_cast<int>(threadIdx.x) % 32);
  values += AttentionTileOffset(of_b.row, of_b.piece, kKeys);
#pragma unroll
  for (int k = 0; k < kKeys / 16; ++k) {
    uint32_t a[2][4];
    WeightsOf(s, k, a);
#pragma unroll
    for (int n = 0; n < kDim / 16; ++n) {
      uint32_t b[4], bad[4];
      LoadMatricesTransposed(AttentionTileMove(values, k * 16, 2 * n, kKeys), b);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const uint32_t mask = NotFinite(b[e]);
        b[e] &= ~mask;
        bad[e] = mask & 0x3C003C00;
      }
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        uint32_t seen[4];
        SeenOf(ahead, k, m, seen);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          float count[4] = {};
          MultiplyF16(state.sums[m][2 * n + h], a[m], b[2 * h], b[2 * h + 1]);
          MultiplyF16(count, seen, bad[2 * h], bad[2 * h + 1]);
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            if (count[e] != 0.0f) state.sums[m][2 * n + h][e] = __int_as_float(0x7FC00000);
          }
        }
      }
    }
  }
}

template <int kDim>
__device__ void Store(const RowState<kDim>& state, int64_t rows, int64_t stride, float* y) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (int m = 0; m < 2; ++m) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float total = state.total[m][h];
      total = __fadd_rn(total, __shfl_xor_sync(~0u, total, 1));
      total = __fadd_rn(total, __shfl_xor_sync(~0u, total, 2));
      const float inverse = __frcp_rn(total);
      const int row = warp * 32 + m * 16 + h * 8 + lane / 4;
      if (row >= rows) continue;
      float* to = y + row * stride + lane % 4 * 2;
#pragma unroll
      for (int n = 0; n < kDim / 8; ++n) {
        *reinterpret_cast<float2*>(to + n * 8) = {Finish(state.sums[m][n][2 * h], inverse),
                                                  Finish(state.sums[m][n][2 * h + 1], inverse)};
      }
    }
  }
}

template <int kDim>
__global__ void __launch_bounds__(kThreads, 2) AttentionManyKernel(AttentionArgs args) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  // The longest blocks first: the last ones to start are the short ones.
  const int64_t row0 = (static_cast<int64_t>(gridDim.y) - 1 - blockIdx.y) * kRows;
  const int64_t rows = min(args.rows - row0, static_cast<int64_t>(kRows));
  const int64_t head = blockIdx.x, kv_head = head / (args.heads / args.kv_heads);
  const int64_t stride = args.heads * kDim, kv_stride = args.kv_heads * kDim;
  const uint16_t* keys = args.keys + kv_head * kDim;
  const uint16_t* values = args.values + kv_head * kDim;
  const int64_t position0 = args.positions[0] + row0;
  const int64_t limit = position0 + rows;
  const int tiles = static_cast<int>((limit + kKeys - 1) / kKeys);

  const uint32_t queries = SharedAddress(shared);
  const uint32_t stages = queries + Tile<kDim>::kQueryBytes;
  LoadTile<kDim, kKeys, kThreads>(keys, kv_stride, 0, limit, stages);
  LoadTile<kDim, kKeys, kThreads>(values, kv_stride, 0, limit, stages + Tile<kDim>::kKeyBytes);
  CopyAsyncCommit();
  const float mine =
      LoadQueries<kDim, 32>(args.q + row0 * stride + head * kDim, stride, rows, shared);
  RowState<kDim> state;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    state.max[i / 2][i % 2] = __int_as_float(0xFF800000);
    state.total[i / 2][i % 2] = 0.0f;
    state.scale[i / 2][i % 2] = __shfl_sync(~0u, mine, i * 8 + lane / 4);
  }
  for (int tile = 0; tile < tiles; ++tile) {
    const int64_t key0 = static_cast<int64_t>(tile) * kKeys;
    const int stage = tile % 2 * 2 * Tile<kDim>::kKeyBytes;
    // After this barrier the tile is whole and nobody reads the one before it any more.
    CopyAsyncWait<0>();
    __syncthreads();
    if (tile + 1 < tiles) {
      const uint32_t next = stages + (tile + 1) % 2 * 2 * Tile<kDim>::kKeyBytes;
      LoadTile<kDim, kKeys, kThreads>(keys, kv_stride, key0 + kKeys, limit, next);
      LoadTile<kDim, kKeys, kThreads>(values, kv_stride, key0 + kKeys, limit,
                                      next + Tile<kDim>::kKeyBytes);
      CopyAsyncCommit();
    }
    const uint32_t key_tile = stages + stage, value_tile = key_tile + Tile<kDim>::kKeyBytes;
    int apart = 0;
    if (key0 + kKeys - 1 > position0) {
      apart = __syncthreads_or(HoldsNotFinite<Tile<kDim>::kKeyBytes, kThreads>(
          shared + Tile<kDim>::kQueryBytes + stage + Tile<kDim>::kKeyBytes));
    }
    const int ahead = static_cast<int>(position0 + warp * 32 - key0);
    if (ahead + 31 < 0) continue;  // behind all rows of the warp
    Scores s;
    Dots<kDim>(queries, key_tile, s);
    if (ahead < kKeys - 1) Mask(ahead, s);
    Softmax<kDim>(s, state);
    if (apart != 0) {
      AddValuesApart<kDim>(value_tile, ahead, s, state);
    } else {
      AddValues<kDim>(value_tile, s, state);
    }
  }
  Store<kDim>(state, rows, stride, args.y + row0 * stride + head * kDim);
}

template <int kDim>
cudaError_t Launch(const AttentionArgs& args, cudaStream_t stream) {
  static const cudaError_t allowed = cudaFuncSetAttribute(
      AttentionManyKernel<kDim>, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile<kDim>::kBytes);
  if (allowed != cudaSuccess) return allowed;
  const dim3 grid(static_cast<unsigned>(args.heads),
                  static_cast<unsigned>((args.rows + kRows - 1) / kRows));
  AttentionManyKernel<kDim><<<grid, kThreads, Tile<kDim>::kBytes, stream>>>(args);
  return cudaGetLastError();
}

}  // namespace

cudaError_t LaunchManyMma(const AttentionArgs& args, cudaStream_t stream) {
  return args.head_dim == 64 ? Launch<64>(args, stream) : Launch<128>(args, stream);
}

}  // namespace fg::cuda
