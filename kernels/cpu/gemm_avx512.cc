#include "kernels/cpu/gemm_avx512.h"

#include <immintrin.h>

#include "kernels/cpu/mmq_avx512.h"
#include "kernels/cpu/vector_avx512.h"

namespace fg::avx512 {
namespace {

constexpr int64_t kPanel = 32;      // outputs of a panel: two vectors
constexpr int64_t kBlockK = 256;    // values of k a packed panel holds (32 KiB, stays in L1)
constexpr int64_t kBlockRows = 96;  // rows converted to f32 at a time (96 KiB, stays in L2)
constexpr int64_t kTileRows = 12;  // 12 x 2 accumulators, two weights, one activation: 27 registers

int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }

// Sixteen weights as f32, exactly; those outside `used` are not read and give 0.
struct F16Weight {
  using Storage = uint16_t;
  static __m512 Load(__mmask16 used, const uint16_t* w) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(used, w));
  }
};

struct BF16Weight {
  using Storage = uint16_t;
  static __m512 Load(__mmask16 used, const uint16_t* w) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(used, w));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
  }
};

struct F32Weight {
  using Storage = float;
  static __m512 Load(__mmask16 used, const float* w) { return _mm512_maskz_loadu_ps(used, w); }
};

// What one call multiplies; `exponents` and `bias` may be null.
template <typename Weight>
struct Product {
  const typename Weight::Storage* w;
  const int32_t* exponents;
  int64_t k;
  const float* bias;
  Range outs;
  float* y;
  int64_t ldy;
};

// The first `columns` of 16 columns of 16 rows; column i goes to to + i*kPanel.
void StoreTransposed(__m512i row[16], int64_t columns, float* to) {
  for (int g = 0; g < 4; ++g) TransposeIn128(row + 4 * g);
  for (int j = 0; j < 4; ++j) {
    // Lane L of row[4g + j] is column 4L + j of rows 4g to 4g+3.
    const __m512i lanes[4] = {row[j], row[4 + j], row[8 + j], row[12 + j]};
    __m512i column[4];
    TransposeLanes(lanes, column);
    for (int lane = 0; lane < 4; ++lane) {
      if (4 * lane + j < columns) _mm512_store_si512(to + (4 * lane + j) * kPanel, column[lane]);
    }
  }
}

// panel[i][o] = w[out + o][k0 + i]; lanes beyond the last output repeat it and are never stored.
template <typename Weight>
void PackPanel(const Product<Weight>& p, int64_t out, int64_t k0, int64_t depth, float* panel) {
  for (int64_t half = 0; half < kPanel; half += 16) {
    const typename Weight::Storage* from[16];
    for (int o = 0; o < 16; ++o) from[o] = p.w + Least(out + half + o, p.outs.end - 1) * p.k + k0;
    for (int64_t i = 0; i < depth; i += 16) {
      const __mmask16 used = FirstLanes(depth - i);
      __m512i row[16];
      for (int o = 0; o < 16; ++o) row[o] = _mm512_castps_si512(Weight::Load(used, from[o] + i));
      StoreTransposed(row, depth - i, panel + i * kPanel + half);
    }
  }
}

// One step of a tile: its rows' accumulators for the outputs of a panel over a block of k. They
// rest in y between blocks, an f32 that y holds exactly.
struct Tile {
  const float* a;  // [rows][lda], the block's values of k
  int64_t lda;
  const float* panel;  // [depth][kPanel]
  int64_t depth;
  bool first, last;          // block of k
  const int32_t* exponents;  // of the tile's rows, or null
  const float* bias;         // of the panel's outputs, or null
  __mmask16 low, high;       // which outputs there are
  float* y;                  // [rows][ldy]
  int64_t ldy;
};

__m512 Finish(__m512 acc, __m512 scale, const float* bias, __mmask16 lanes) {
  acc = _mm512_mul_ps(acc, scale);
  return bias == nullptr ? acc : _mm512_add_ps(acc, _mm512_maskz_loadu_ps(lanes, bias));
}

// The loops over rows are unrolled by hand: g++ 12 else keeps the sums in memory too.
template <int kRows>
void MultiplyTile(const Tile& t) {
  __m512 low[kRows], high[kRows];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    const float* y = t.y + r * t.ldy;
    low[r] = t.first ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(t.low, y);
    high[r] = t.first ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(t.high, y + 16);
  }
  const float* a = t.a;
  const int64_t lda = t.lda;
  const float* panel = t.panel;
  for (int64_t i = 0; i < t.depth; ++i, panel += kPanel) {
    const __m512 w0 = _mm512_load_ps(panel);
    const __m512 w1 = _mm512_load_ps(panel + 16);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const __m512 value = _mm512_set1_ps(a[r * lda + i]);
      low[r] = _mm512_fmadd_ps(w0, value, low[r]);
      high[r] = _mm512_fmadd_ps(w1, value, high[r]);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    float* y = t.y + r * t.ldy;
    if (t.last) {
      const int32_t exponent = t.exponents != nullptr ? t.exponents[r] : 0;
      const __m512 scale = _mm512_castsi512_ps(_mm512_set1_epi32((exponent + 127) << 23));
      low[r] = Finish(low[r], scale, t.bias, t.low);
      high[r] = Finish(high[r], scale, t.bias == nullptr ? nullptr : t.bias + 16, t.high);
    }
    _mm512_mask_storeu_ps(y, t.low, low[r]);
    _mm512_mask_storeu_ps(y + 16, t.high, high[r]);
  }
}

// Rows r.. of a block in the largest tiles that fit.
void MultiplyRows(Tile tile, int64_t rows) {
  const auto advance = [&](int64_t done) {
    tile.a += done * tile.lda;
    tile.y += done * tile.ldy;
    if (tile.exponents != nullptr) tile.exponents += done;
    rows -= done;
  };
  while (rows >= kTileRows) {
    MultiplyTile<kTileRows>(tile);
    advance(kTileRows);
  }
  if (rows >= 8) {
    MultiplyTile<8>(tile);
    advance(8);
  }
  if (rows >= 4) {
    MultiplyTile<4>(tile);
    advance(4);
  }
  while (rows > 0) {
    MultiplyTile<1>(tile);
    advance(1);
  }
}

// Rows r0.. (their block of k at a[rows][lda]) times all outputs over k0..k0+depth.
template <typename Weight>
void MultiplyBlock(const Product<Weight>& p, const float* a, int64_t lda, int64_t r0, int64_t rows,
                   int64_t k0, int64_t depth) {
  alignas(64) float panel[kBlockK * kPanel];
  for (int64_t out = p.outs.begin; out < p.outs.end; out += kPanel) {
    PackPanel(p, out, k0, depth, panel);
    MultiplyRows({.a = a,
                  .lda = lda,
                  .panel = panel,
                  .depth = depth,
                  .first = k0 == 0,
                  .last = k0 + depth == p.k,
                  .exponents = p.exponents == nullptr ? nullptr : p.exponents + r0,
                  .bias = p.bias == nullptr ? nullptr : p.bias + out,
                  .low = FirstLanes(p.outs.end - out),
                  .high = FirstLanes(p.outs.end - out - 16),
                  .y = p.y + r0 * p.ldy + out,
                  .ldy = p.ldy},
                 rows);
  }
}

template <typename Weight>
void MultiplyF16Rows(const Product<Weight>& p, const uint16_t* a, int64_t rows) {
  alignas(64) float block[kBlockRows * kBlockK];
  for (int64_t r0 = 0; r0 < rows; r0 += kBlockRows) {
    const int64_t count = Least(kBlockRows, rows - r0);
    for (int64_t k0 = 0; k0 < p.k; k0 += kBlockK) {
      const int64_t depth = Least(kBlockK, p.k - k0);
      for (int64_t r = 0; r < count; ++r) {
        const uint16_t* from = a + (r0 + r) * p.k + k0;
        for (int64_t i = 0; i < depth; i += 16) {
          const __m512 values = F16Weight::Load(FirstLanes(depth - i), from + i);
          _mm512_store_ps(block + r * kBlockK + i, values);
        }
      }
      MultiplyBlock(p, block, kBlockK, r0, count, k0, depth);
    }
  }
}

}  // namespace

void GemmF16(const uint16_t* w, const uint16_t* a, const int32_t* exponents, int64_t rows,
             int64_t k, const float* bias, Range outs, float* y, int64_t ldy) {
  MultiplyF16Rows(Product<F16Weight>{w, exponents, k, bias, outs, y, ldy}, a, rows);
}

void GemmBF16(const uint16_t* w, const uint16_t* a, const int32_t* exponents, int64_t rows,
              int64_t k, const float* bias, Range outs, float* y, int64_t ldy) {
  MultiplyF16Rows(Product<BF16Weight>{w, exponents, k, bias, outs, y, ldy}, a, rows);
}

void GemmF32(const float* w, const float* x, int64_t ldx, int64_t rows, int64_t k,
             const float* bias, Range outs, float* y, int64_t ldy) {
  const Product<F32Weight> product{w, nullptr, k, bias, outs, y, ldy};
  for (int64_t r0 = 0; r0 < rows; r0 += kBlockRows) {
    const int64_t count = Least(kBlockRows, rows - r0);
    for (int64_t k0 = 0; k0 < k; k0 += kBlockK) {
      const int64_t depth = Least(kBlockK, k - k0);
      MultiplyBlock(product, x + r0 * ldx + k0, ldx, r0, count, k0, depth);
    }
  }
}

}  // namespace fg::avx512
