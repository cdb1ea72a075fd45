// The loop that the q4_K forms on row-major activations share. For *_avx512.cc files alone. Sixteen
// outputs lie in the lanes of a vector; four values of a row are broadcast for two such vectors.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/mmq_avx512.h"
#include "kernels/cpu/mmq_forms.h"

namespace fg {
namespace {

constexpr int kPairBlock = 4;  // pairs of vectors, 128 outputs, that share a row block's tables

// Scales of a staged super-block of 16 outputs: lane o, sub-block j.
struct alignas(64) WideScales {
  float ws[8][kWide];
  float wm[8][kWide];

  void Stage(const WideGroup& group, int64_t offset) {
    const ScalesQ4_K packed = DecodeScalesQ4_K(group, offset);
    for (int j = 0; j < 8; ++j) {
      const __m512 sc = ByteToF32(packed.scales[j / 4], j % 4);
      const __m512 m = ByteToF32(packed.mins[j / 4], j % 4);
      _mm512_store_ps(ws[j], _mm512_mul_ps(packed.d, sc));
      _mm512_store_ps(wm[j], _mm512_mul_ps(packed.minus_dmin, m));
    }
  }
};

// Dwords 0..7 of 32 bytes at `offset` of each row: lane o of v[i] is dword i of row o.
inline void LoadTransposed(const WideGroup& group, int64_t offset, __m512i v[8]) {
  for (int h = 0; h < 2; ++h) {
    for (int i = 0; i < 4; ++i) v[4 * h + i] = Load16x4(group, i, offset + 16 * h);
    TransposeIn128(v + 4 * h);
  }
}

// A row block's sums, and what its chunks of one super-block are multiplied with.
struct alignas(64) RowBlock {
  float acc[kPairBlock][kMmqRowBlock][2][kWide];
  float d[kMmqRowBlock][8];
  float dsum[kMmqRowBlock][8];  // d * f32(msum); its rounding does not depend on the output
};

template <KernelFault kFault>
void FillTables(const ActivationChunk* a, int64_t stride, int rows, RowBlock* block) {
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < 8; ++c) {
      const ActivationChunk& chunk = a[r * stride + c];
      block->d[r][c] = chunk.d;
      block->dsum[r][c] = chunk.d * static_cast<float>(chunk.sum[0] + chunk.sum[1]);
      if (kFault == KernelFault::kDropMin && c == 5) block->dsum[r][c] = 0;
    }
  }
}

inline __m512i BroadcastFour(const void* p) {
  int value;
  __builtin_memcpy(&value, p, sizeof(value));
  return _mm512_set1_epi32(value);
}

// kRows rows from row r of the block, `stride` chunks apart, over chunk c of two tiles.
template <int kRows, typename Tile>
inline void MultiplyChunk(const Tile tiles[2], int c, const ActivationChunk* a, int64_t stride,
                          int r, int pair, RowBlock* block) {
  __m512i dot[2][kRows];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) dot[0][i] = dot[1][i] = _mm512_setzero_si512();
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    const __m512i w0 = tiles[0].Values(c, i), w1 = tiles[1].Values(c, i);
#pragma GCC unroll 8
    for (int n = 0; n < kRows; ++n) {
      __m512i values = BroadcastFour(a[n * stride + c].q + 4 * i);
      asm("" : "+v"(values));  // loaded once for both products
      dot[0][n] = _mm512_dpbusd_epi32(dot[0][n], w0, values);
      dot[1][n] = _mm512_dpbusd_epi32(dot[1][n], w1, values);
    }
  }
#pragma GCC unroll 2
  for (int v = 0; v < 2; ++v) {
    const __m512 ws = _mm512_load_ps(tiles[v].scales.ws[c]);
    const __m512 wm = _mm512_load_ps(tiles[v].scales.wm[c]);
#pragma GCC unroll 8
    for (int n = 0; n < kRows; ++n) {
      float* acc = block->acc[pair][r + n][v];
      const __m512 scale = _mm512_mul_ps(ws, _mm512_set1_ps(block->d[r + n][c]));
      __m512 sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[v][n]), scale, _mm512_load_ps(acc));
      sum = _mm512_fmadd_ps(wm, _mm512_set1_ps(block->dsum[r + n][c]), sum);
      _mm512_store_ps(acc, sum);
    }
  }
}

template <int kRows, typename Tile>
__attribute__((noinline)) void MultiplyRows(const Tile tiles[2], const ActivationChunk* a,
                                            int64_t stride, int r, int pair, RowBlock* block) {
  for (int c = 0; c < 8; ++c) {
    asm volatile("" ::: "memory");  // or the sums are kept on the stack too, with stores twice
    MultiplyChunk<kRows>(tiles, c, a, stride, r, pair, block);
  }
}

template <typename Tile>
void MultiplyBlock(const Tile tiles[2], const ActivationChunk* a, int64_t stride, int rows,
                   int pair, RowBlock* block) {
  int r = 0;
  for (; r + 8 <= rows; r += 8) {
    MultiplyRows<8>(tiles, a + r * stride, stride, r, pair, block);
  }
  for (; r + 2 <= rows; r += 2) {
    MultiplyRows<2>(tiles, a + r * stride, stride, r, pair, block);
  }
  for (; r < rows; ++r) MultiplyRows<1>(tiles, a + r * stride, stride, r, pair, block);
}

// Rows [first, first + rows) with up to 128 outputs. `used`: super-blocks of a row.
template <KernelFault kFault, typename Tile>
void RunBlock(const MmqArgs& args, int64_t first, int rows, Range outs, int64_t used,
              RowBlock* block) {
  const int64_t supers = args.k / kSuperBlock, stride = supers * 8;
  const int64_t row_bytes = supers * static_cast<int64_t>(sizeof(BlockQ4_K));
  WideGroup groups[2 * kPairBlock];
  int pairs = 0;
  for (int64_t o = outs.begin; o < outs.end; o += 2 * kWide, ++pairs) {
    groups[2 * pairs] = MakeWideGroup(args.w, row_bytes, o, outs.end);
    const bool second = o + kWide < outs.end;  // else the first again, and not stored
    groups[2 * pairs + 1] =
        second ? MakeWideGroup(args.w, row_bytes, o + kWide, outs.end) : groups[2 * pairs];
    if (!second) groups[2 * pairs + 1].valid = 0;
    for (int r = 0; r < rows; ++r) {
      for (int v = 0; v < 2; ++v) _mm512_store_ps(block->acc[pairs][r][v], _mm512_setzero_ps());
    }
  }
  Tile tiles[2];
  for (int64_t s = 0; s < used; ++s) {
    const ActivationChunk* a = args.a + first * stride + 8 * s;
    FillTables<kFault>(a, stride, rows, block);
    for (int p = 0; p < pairs; ++p) {
      const int64_t offset = s * static_cast<int64_t>(sizeof(BlockQ4_K));
      for (int v = 0; v < 2; ++v) tiles[v].Stage(groups[2 * p + v], offset);
      MultiplyBlock(tiles, a, stride, rows, p, block);
    }
  }
  for (int p = 0; p < pairs; ++p) {
    for (int v = 0; v < 2; ++v) {
      const WideGroup& group = groups[2 * p + v];
      if (group.valid == 0) continue;
      for (int r = 0; r < rows; ++r) {
        float* y = args.y + (first + r) * args.ldy + group.out;
        StoreWide(group, _mm512_load_ps(block->acc[p][r][v]), args.bias, y);
      }
    }
  }
}

template <KernelFault kFault, typename Tile>
void RunRows(const MmqArgs& args, Range outs, int64_t used) {
  constexpr int64_t kOutBlock = 2 * kWide * kPairBlock;
  RowBlock block;
  for (int64_t first = 0; first < args.rows; first += kMmqRowBlock) {
    const int64_t left = args.rows - first;
    const int rows = left < kMmqRowBlock ? static_cast<int>(left) : kMmqRowBlock;
    for (int64_t o = outs.begin; o < outs.end; o += kOutBlock) {
      const Range part = {o, o + kOutBlock < outs.end ? o + kOutBlock : outs.end};
      RunBlock<kFault, Tile>(args, first, rows, part, used, &block);
    }
  }
}

}  // namespace
}  // namespace fg
