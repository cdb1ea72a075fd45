#include "kernels/cpu/gemm_avx2.h"

#include <immintrin.h>

#include "kernels/cpu/vector_avx2.h"

namespace fg::avx2 {
namespace {

constexpr int64_t kPanel = 16;      // outputs of a panel: two vectors
constexpr int64_t kBlockK = 256;    // values of k a packed panel holds (16 KiB, stays in L1)
constexpr int64_t kBlockRows = 96;  // rows converted to f32 at a time (96 KiB, stays in L2)
constexpr int64_t kTileRows =
    6;  // 6 x 2 accumulators, two weights and one activation: 15 registers

int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }

struct F16Weight {
  using Storage = uint16_t;
  static __m256 Load8(const uint16_t* w) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w)));
  }
  static float Load1(const uint16_t* w) { return _cvtsh_ss(*w); }
};

struct BF16Weight {
  using Storage = uint16_t;
  static __m256 Load8(const uint16_t* w) {
    const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(w));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(packed), 16));
  }
  static float Load1(const uint16_t* w) {
    return _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(uint32_t{*w} << 16))));
  }
};

struct F32Weight {
  using Storage = float;
  static __m256 Load8(const float* w) { return _mm256_loadu_ps(w); }
  static float Load1(const float* w) { return *w; }
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

// Eight rows of eight to eight columns, column i at to + i*kPanel.
void StoreTransposed(const __m256 (&row)[8], float* to) {
  __m256 pair[8], quad[8];
  for (int i = 0; i < 8; i += 2) {
    pair[i] = _mm256_unpacklo_ps(row[i], row[i + 1]);
    pair[i + 1] = _mm256_unpackhi_ps(row[i], row[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    quad[i] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0x44);
    quad[i + 1] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0xEE);
    quad[i + 2] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
    quad[i + 3] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0xEE);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(to + i * kPanel, _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x20));
    _mm256_storeu_ps(to + (i + 4) * kPanel, _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x31));
  }
}

// panel[i][o] = w[out + o][k0 + i]; lanes beyond the last output repeat it and are never stored.
template <typename Weight>
void PackPanel(const Product<Weight>& p, int64_t out, int64_t k0, int64_t depth, float* panel) {
  for (int64_t half = 0; half < kPanel; half += 8) {
    const typename Weight::Storage* from[8];
    for (int o = 0; o < 8; ++o) from[o] = p.w + Least(out + half + o, p.outs.end - 1) * p.k + k0;
    int64_t i = 0;
    for (; i + 8 <= depth; i += 8) {
      __m256 row[8];
      for (int o = 0; o < 8; ++o) row[o] = Weight::Load8(from[o] + i);
      StoreTransposed(row, panel + i * kPanel + half);
    }
    for (; i < depth; ++i) {
      for (int o = 0; o < 8; ++o) panel[i * kPanel + half + o] = Weight::Load1(from[o] + i);
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
  __m256i low, high;         // which outputs there are
  float* y;                  // [rows][ldy]
  int64_t ldy;
};

__m256 Finish(__m256 acc, __m256 scale, const float* bias, __m256i lanes) {
  acc = _mm256_mul_ps(acc, scale);
  return bias == nullptr ? acc : _mm256_add_ps(acc, _mm256_maskload_ps(bias, lanes));
}

template <int kRows>
void MultiplyTile(const Tile& t) {
  __m256 low[kRows], high[kRows];
  for (int r = 0; r < kRows; ++r) {
    const float* y = t.y + r * t.ldy;
    low[r] = t.first ? _mm256_setzero_ps() : _mm256_maskload_ps(y, t.low);
    high[r] = t.first ? _mm256_setzero_ps() : _mm256_maskload_ps(y + 8, t.high);
  }
  const float* a = t.a;
  const int64_t lda = t.lda;
  const float* panel = t.panel;
  for (int64_t i = 0; i < t.depth; ++i, panel += kPanel) {
    const __m256 w0 = _mm256_load_ps(panel);
    const __m256 w1 = _mm256_load_ps(panel + 8);
    for (int r = 0; r < kRows; ++r) {
      const __m256 value = _mm256_broadcast_ss(a + r * lda + i);
      low[r] = _mm256_fmadd_ps(w0, value, low[r]);
      high[r] = _mm256_fmadd_ps(w1, value, high[r]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    float* y = t.y + r * t.ldy;
    if (t.last) {
      const int32_t exponent = t.exponents != nullptr ? t.exponents[r] : 0;
      const __m256 scale = _mm256_castsi256_ps(_mm256_set1_epi32((exponent + 127) << 23));
      low[r] = Finish(low[r], scale, t.bias, t.low);
      high[r] = Finish(high[r], scale, t.bias == nullptr ? nullptr : t.bias + 8, t.high);
    }
    _mm256_maskstore_ps(y, t.low, low[r]);
    _mm256_maskstore_ps(y + 8, t.high, high[r]);
  }
}

void MultiplyRows(const Tile& tile, int64_t rows) {
  switch (rows) {
    case 1:
      return MultiplyTile<1>(tile);
    case 2:
      return MultiplyTile<2>(tile);
    case 3:
      return MultiplyTile<3>(tile);
    case 4:
      return MultiplyTile<4>(tile);
    case 5:
      return MultiplyTile<5>(tile);
    default:
      return MultiplyTile<kTileRows>(tile);
  }
}

// Rows r0.. (their block of k at a[rows][lda]) times all outputs over k0..k0+depth.
template <typename Weight>
void MultiplyBlock(const Product<Weight>& p, const float* a, int64_t lda, int64_t r0, int64_t rows,
                   int64_t k0, int64_t depth) {
  alignas(32) float panel[kBlockK * kPanel];
  Tile tile;
  tile.lda = lda;
  tile.panel = panel;
  tile.depth = depth;
  tile.first = k0 == 0;
  tile.last = k0 + depth == p.k;
  tile.ldy = p.ldy;
  for (int64_t out = p.outs.begin; out < p.outs.end; out += kPanel) {
    PackPanel(p, out, k0, depth, panel);
    tile.bias = p.bias == nullptr ? nullptr : p.bias + out;
    tile.low = FirstLanes(p.outs.end - out);
    tile.high = FirstLanes(p.outs.end - out - 8);
    for (int64_t r = 0; r < rows; r += kTileRows) {
      tile.a = a + r * lda;
      tile.exponents = p.exponents == nullptr ? nullptr : p.exponents + r0 + r;
      tile.y = p.y + (r0 + r) * p.ldy + out;
      MultiplyRows(tile, Least(kTileRows, rows - r));
    }
  }
}

void ConvertF16(const uint16_t* from, int64_t n, float* to) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(to + i, F16Weight::Load8(from + i));
  for (; i < n; ++i) to[i] = F16Weight::Load1(from + i);
}

template <typename Weight>
void MultiplyF16Rows(const Product<Weight>& p, const uint16_t* a, int64_t rows) {
  alignas(32) float block[kBlockRows * kBlockK];
  for (int64_t r0 = 0; r0 < rows; r0 += kBlockRows) {
    const int64_t count = Least(kBlockRows, rows - r0);
    for (int64_t k0 = 0; k0 < p.k; k0 += kBlockK) {
      const int64_t depth = Least(kBlockK, p.k - k0);
      for (int64_t r = 0; r < count; ++r) {
        ConvertF16(a + (r0 + r) * p.k + k0, depth, block + r * kBlockK);
      }
      MultiplyBlock(p, block, kBlockK, r0, count, k0, depth);
    }
  }
}

// The bits of the largest magnitude; as integers they order as the values do, NaN above all.
uint32_t LargestMagnitudeBits(const float* x, int64_t n) {
  const __m256i magnitude = _mm256_set1_epi32(0x7FFFFFFF);
  __m256i most = _mm256_setzero_si256();
  for (int64_t i = 0; i < n; i += 8) {
    const __m256 v = _mm256_maskload_ps(x + i, FirstLanes(n - i));
    most = _mm256_max_epu32(most, _mm256_and_si256(_mm256_castps_si256(v), magnitude));
  }
  alignas(32) uint32_t lanes[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), most);
  uint32_t bits = 0;
  for (const uint32_t lane : lanes) bits = bits < lane ? lane : bits;
  return bits;
}

void RoundRow(const float* x, int64_t k, uint16_t* a, int32_t* exponent) {
  const uint32_t amax_bits = LargestMagnitudeBits(x, k);
  const int32_t above = static_cast<int32_t>(amax_bits >> 23) - 127 - 14;
  *exponent = amax_bits >= 0x7F800000u || above < 0 ? 0 : above;
  const __m256 scale = _mm256_castsi256_ps(_mm256_set1_epi32((127 - *exponent) << 23));
  int64_t i = 0;
  for (; i + 8 <= k; i += 8) {
    const __m256 v = _mm256_mul_ps(_mm256_loadu_ps(x + i), scale);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(a + i),
                     _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
  const float one_scale = _mm256_cvtss_f32(scale);
  for (; i < k; ++i) a[i] = _cvtss_sh(x[i] * one_scale, _MM_FROUND_TO_NEAREST_INT);
}

}  // namespace

void RoundRowsToF16(const float* x, int64_t ldx, int64_t rows, int64_t k, uint16_t* a,
                    int32_t* exponents) {
  for (int64_t r = 0; r < rows; ++r) RoundRow(x + r * ldx, k, a + r * k, exponents + r);
}

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

}  // namespace fg::avx2
