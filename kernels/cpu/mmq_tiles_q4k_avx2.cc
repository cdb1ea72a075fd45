// Half the rows of a tile lie in the lanes; four bytes of packed nibbles of one output are
// broadcast, unpacked in registers and multiplied with up to four half tiles.
#include <immintrin.h>

#include "kernels/cpu/mmq_tiles_forms.h"
#include "kernels/cpu/scale_pairs_avx2.h"

namespace fg {
namespace {

constexpr int kHalfRows = 8;
constexpr int kMaxTiles = 2;    // of one row block: 32 rows, 10 KiB of one super-block
constexpr int kOutBlock = 256;  // outputs that share a row block's activations; 32 KiB of sums

using Lanes = float[kTileRows];

// Accumulators of a block of outputs, carried over K (the last row takes what nobody reads), and
// one super-block's activations: copied, so that they lie on whole cache lines.
struct alignas(64) Block {
  Lanes acc[kOutBlock + 1][kMaxTiles];
  int8_t q[8][kMaxTiles][8][kTileRows * 4];
  Lanes d[8][kMaxTiles];
  Lanes dsum[8][kMaxTiles];  // d * f32(msum); its rounding does not depend on the output
};

// Where a row block's super-block lies.
struct Step {
  const ActivationTile* a;  // of chunk 0 of tile 0
  int64_t stride;           // in tiles, from one tile of rows to the next
};

// An output's super-block: packed nibbles, and the scales of chunk c at [c * scale_stride].
struct OutStep {
  const uint8_t* q;
  const float* scales;
  int64_t scale_stride;
  Lanes* acc;
};

template <KernelFault kFault>
void FillTable(const Step& step, int tiles, Block* block) {
  for (int c = 0; c < 8; ++c) {
    for (int t = 0; t < tiles; ++t) {
      const ActivationTile& tile = step.a[t * step.stride + c];
      __builtin_memcpy(block->q[c][t], tile.q, sizeof(tile.q));
      __builtin_memcpy(block->d[c][t], tile.d, sizeof(tile.d));
      for (int h = 0; h < kTileRows; h += kHalfRows) {
        const __m256i sums = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(tile.sum[h]));
        const __m256i msum = _mm256_madd_epi16(sums, _mm256_set1_epi16(1));
        __m256 dsum = _mm256_mul_ps(_mm256_loadu_ps(tile.d + h), _mm256_cvtepi32_ps(msum));
        if (kFault == KernelFault::kDropMin && c == 5) dsum = _mm256_setzero_ps();
        _mm256_store_ps(block->dsum[c][t] + h, dsum);
      }
    }
  }
}

// The four bytes at p, each in the low nibble's place, in every lane.
inline __m256i Broadcast(const uint8_t* p, bool high) {
  int value;
  __builtin_memcpy(&value, p, sizeof(value));
  const __m256i packed = _mm256_set1_epi32(value);
  return _mm256_and_si256(high ? _mm256_srli_epi16(packed, 4) : packed, _mm256_set1_epi8(15));
}

// The contract's two steps for all tiles of one output. dot holds i16 pairs.
template <int kTiles>
inline void AddChunk(const __m256i dot[2 * kTiles], const float* pair, const Lanes* d,
                     const Lanes* dsum, Lanes* acc) {
  const __m256 ws = _mm256_set1_ps(pair[0]);
  const __m256 wm = _mm256_set1_ps(pair[1]);
#pragma GCC unroll 4
  for (int h = 0; h < 2 * kTiles; ++h) {
    const int t = h / 2, r = h % 2 * kHalfRows;
    const __m256i isum = _mm256_madd_epi16(dot[h], _mm256_set1_epi16(1));
    const __m256 scale = _mm256_mul_ps(ws, _mm256_load_ps(d[t] + r));
    __m256 sum = _mm256_load_ps(acc[t] + r);
    sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(isum), scale, sum);
    sum = _mm256_fmadd_ps(wm, _mm256_load_ps(dsum[t] + r), sum);
    _mm256_store_ps(acc[t] + r, sum);
  }
}

// Two outputs with kTiles tiles over chunk c.
template <int kTiles, bool kHigh>
inline void MultiplyChunk(const Block& block, int c, const OutStep& first, const OutStep& second) {
  const uint8_t* q0 = first.q + 32 * (c / 2);
  const uint8_t* q1 = second.q + 32 * (c / 2);
  // i16 pairs: at most 8 * 2 * 15 * 127 = 30480.
  __m256i dot0[2 * kTiles], dot1[2 * kTiles];
#pragma GCC unroll 4
  for (int h = 0; h < 2 * kTiles; ++h) dot0[h] = dot1[h] = _mm256_setzero_si256();
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    const __m256i w0 = Broadcast(q0 + 4 * i, kHigh);
    const __m256i w1 = Broadcast(q1 + 4 * i, kHigh);
#pragma GCC unroll 4
    for (int h = 0; h < 2 * kTiles; ++h) {
      const int8_t* p = block.q[c][h / 2][i] + h % 2 * kHalfRows * 4;
      const __m256i values = _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
      dot0[h] = _mm256_add_epi16(dot0[h], _mm256_maddubs_epi16(w0, values));
      dot1[h] = _mm256_add_epi16(dot1[h], _mm256_maddubs_epi16(w1, values));
    }
  }
  AddChunk<kTiles>(dot0, first.scales + c * first.scale_stride, block.d[c], block.dsum[c],
                   first.acc);
  AddChunk<kTiles>(dot1, second.scales + c * second.scale_stride, block.d[c], block.dsum[c],
                   second.acc);
}

template <int kTiles, bool kSwap>
__attribute__((noinline)) void Multiply(const Block& block, const OutStep& first,
                                        const OutStep& second) {
  for (int c = 0; c < 8; c += 2) {
    asm volatile("" ::: "memory");  // or the sums are kept on the stack too, with stores twice
    MultiplyChunk<kTiles, kSwap>(block, c, first, second);
    MultiplyChunk<kTiles, !kSwap>(block, c + 1, first, second);
  }
}

inline OutStep MakeOutStep(const MmqTilesArgs& args, int64_t o, int64_t s, float decoded[16],
                           Lanes* acc) {
  const int64_t supers = args.k / kSuperBlock;
  const BlockQ4_K& block = static_cast<const BlockQ4_K*>(args.w)[o * supers + s];
  if (args.scales == nullptr) {
    DecodeScalePairs(block, 0, decoded);
    DecodeScalePairs(block, 1, decoded + 8);
    return {block.q, decoded, 2, acc};
  }
  const ScalePair* pair = args.scales + ScalePairIndex(8 * s, o, args.out_total);
  return {block.q, &pair->ws, 2 * args.out_total, acc};
}

template <int kTiles, bool kSwap>
void MultiplyBlock(const MmqTilesArgs& args, int64_t s, Range outs, Block* block) {
  for (int64_t o = outs.begin; o < outs.end; o += 2) {
    float decoded[2][16];
    Lanes* acc = block->acc[o - outs.begin];
    const OutStep first = MakeOutStep(args, o, s, decoded[0], acc);
    OutStep second = first;
    if (o + 1 < outs.end) {
      second = MakeOutStep(args, o + 1, s, decoded[1], acc + kMaxTiles);
    } else {
      second.acc = block->acc[kOutBlock];
    }
    Multiply<kTiles, kSwap>(*block, first, second);
  }
}

void StoreBlock(const MmqTilesArgs& args, const Block& block, int64_t row, int rows, Range outs) {
  for (int r = 0; r < rows; ++r) {
    float* y = args.y + (row + r) * args.ldy;
    for (int64_t o = outs.begin; o < outs.end; ++o) {
      const float value = block.acc[o - outs.begin][r / kTileRows][r % kTileRows];
      y[o] = args.bias == nullptr ? value : value + args.bias[o];
    }
  }
}

// kTiles tiles from `tile` on with a block of outputs.
template <int kTiles, KernelFault kFault>
void RunBlock(const MmqTilesArgs& args, int64_t tile, Range outs, Block* block) {
  const int64_t supers = args.k / kSuperBlock;
  for (int64_t o = 0; o < outs.size(); ++o) {
    for (int t = 0; t < kTiles; ++t) {
      for (float& lane : block->acc[o][t]) lane = 0;
    }
  }
  for (int64_t s = 0; s < supers; ++s) {
    const Step step = {args.a + (tile * supers + s) * 8, supers * 8};
    FillTable<kFault>(step, kTiles, block);
    MultiplyBlock<kTiles, kFault == KernelFault::kSwapNibbles>(args, s, outs, block);
  }
  const int64_t row = tile * kTileRows;
  const int64_t left = args.rows - row;
  const int rows = left < kTiles * kTileRows ? static_cast<int>(left) : kTiles * kTileRows;
  StoreBlock(args, *block, row, rows, outs);
}

template <KernelFault kFault>
void Run(const MmqTilesArgs& args, Range outs) {
  const int64_t tiles = TileCount(args.rows);
  Block block;
  for (int64_t o = outs.begin; o < outs.end; o += kOutBlock) {
    const Range part = {o, o + kOutBlock < outs.end ? o + kOutBlock : outs.end};
    int64_t t = 0;
    for (; t + 2 <= tiles; t += 2) RunBlock<2, kFault>(args, t, part, &block);
    if (t < tiles) RunBlock<1, kFault>(args, t, part, &block);
  }
}

}  // namespace

void MmqTilesQ4KAvx2(const MmqTilesArgs& args, Range outs, KernelFault fault) {
  switch (fault) {
    case KernelFault::kSwapNibbles:
      return Run<KernelFault::kSwapNibbles>(args, outs);
    case KernelFault::kDropMin:
      return Run<KernelFault::kDropMin>(args, outs);
    default:
      return Run<KernelFault::kNone>(args, outs);
  }
}

}  // namespace fg
