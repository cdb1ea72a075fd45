#include "kernels/cpu/mmq_avx2.h"
#include "kernels/cpu/mmq_tiles_forms.h"

namespace fg {
namespace {

constexpr int kTiles = 4;  // that share an output's unpacked weights: 64 rows, in L1

// One super-block of one output: unsigned values in their order.
struct alignas(32) Super {
  uint8_t n[256];
  int32_t sc[16];
  float d[8];
};

template <KernelFault kFault>
void StoreValues(Super* super, int c, __m256i n) {
  if (kFault == KernelFault::kCoarseQ6K) n = _mm256_and_si256(n, _mm256_set1_epi8(0x3C));
  _mm256_store_si256(reinterpret_cast<__m256i*>(super->n + 32 * c), n);
}

template <KernelFault kFault>
void Unpack(const BlockQ6_K& block, Super* super) {
  const __m256i four = _mm256_set1_epi8(15);
  const __m256i top = _mm256_set1_epi8(0x30);
  for (int half = 0; half < 2; ++half) {
    const __m256i l0 = LoadBytes(block.ql + 64 * half);
    const __m256i l1 = LoadBytes(block.ql + 64 * half + 32);
    const __m256i h = LoadBytes(block.qh + 32 * half);
    const __m256i low[4] = {l0, l1, _mm256_srli_epi16(l0, 4), _mm256_srli_epi16(l1, 4)};
    const __m256i high[4] = {_mm256_slli_epi16(h, 4), _mm256_slli_epi16(h, 2), h,
                             _mm256_srli_epi16(h, 2)};
    for (int q = 0; q < 4; ++q) {
      StoreValues<kFault>(
          super, 4 * half + q,
          _mm256_or_si256(_mm256_and_si256(low[q], four), _mm256_and_si256(high[q], top)));
    }
  }
  constexpr int kSwap = kFault == KernelFault::kSwapHalfScales ? 1 : 0;
  for (int j = 0; j < 16; ++j) super->sc[j] = block.scales[j ^ kSwap];
  const __m128i bits = _mm_cvtsi32_si128(block.d);
  const float d = _mm_cvtss_f32(_mm_cvtph_ps(bits));
  for (int c = 0; c < 8; ++c) super->d[c] = d;
}

template <KernelFault kFault>
void Unpack(const ExpandedChunkQ6_K* chunks, Super* super) {
  for (int c = 0; c < 8; ++c) {
    const __m256i q = LoadBytes(chunks[c].q);
    StoreValues<kFault>(super, c, _mm256_add_epi8(q, _mm256_set1_epi8(32)));
    super->sc[2 * c] = chunks[c].sc[0];
    super->sc[2 * c + 1] = chunks[c].sc[1];
    super->d[c] = chunks[c].d;
  }
}

struct Pair {
  __m256i low, high;  // rows 0..7 and 8..15
};

// Values 16*half.. of a tile with n[0..15], by row. Two maddubs together stay below
// 4 * 63 * 127 = 32004: an i16 holds them.
Pair DotHalf(const uint8_t* n, const int8_t (*q)[kTileRows][4]) {
  const __m256i ones = _mm256_set1_epi16(1);
  Pair dot = {_mm256_setzero_si256(), _mm256_setzero_si256()};
  for (int i = 0; i < 4; i += 2) {
    const __m256i n0 = _mm256_set1_epi32(static_cast<int>(LoadU32(n + 4 * i)));
    const __m256i n1 = _mm256_set1_epi32(static_cast<int>(LoadU32(n + 4 * i + 4)));
    const __m256i low = _mm256_add_epi16(_mm256_maddubs_epi16(n0, LoadBytes(q[i][0])),
                                         _mm256_maddubs_epi16(n1, LoadBytes(q[i + 1][0])));
    const __m256i high = _mm256_add_epi16(_mm256_maddubs_epi16(n0, LoadBytes(q[i][8])),
                                          _mm256_maddubs_epi16(n1, LoadBytes(q[i + 1][8])));
    dot.low = _mm256_add_epi32(dot.low, _mm256_madd_epi16(low, ones));
    dot.high = _mm256_add_epi32(dot.high, _mm256_madd_epi16(high, ones));
  }
  return dot;
}

// isum of eight rows: sums hold s0 and s1 of a row as two i16, fold (-32*sc0, -32*sc1) likewise.
__m256i FoldOffset(__m256i dot0, __m256i dot1, __m256i sc0, __m256i sc1, __m256i sums,
                   __m256i fold) {
  const __m256i products =
      _mm256_add_epi32(_mm256_mullo_epi32(dot0, sc0), _mm256_mullo_epi32(dot1, sc1));
  return _mm256_add_epi32(products, _mm256_madd_epi16(sums, fold));
}

// acc[0] is of rows 0..7 of the tile, acc[1] of rows 8..15.
void MultiplyChunk(const Super& super, int c, const ActivationTile& a, __m256 acc[2]) {
  const Pair dot0 = DotHalf(super.n + 32 * c, a.q);
  const Pair dot1 = DotHalf(super.n + 32 * c + 16, a.q + 4);
  const int scale0 = super.sc[2 * c], scale1 = super.sc[2 * c + 1];
  const __m256i sc0 = _mm256_set1_epi32(scale0);
  const __m256i sc1 = _mm256_set1_epi32(scale1);
  const __m256i fold =
      _mm256_set1_epi32(((-32 * scale0) & 0xFFFF) | static_cast<int>(-32u * 65536u * scale1));
  const __m256 d = _mm256_set1_ps(super.d[c]);
  const __m256i low = FoldOffset(dot0.low, dot1.low, sc0, sc1, LoadBytes(a.sum[0]), fold);
  const __m256i high = FoldOffset(dot0.high, dot1.high, sc0, sc1, LoadBytes(a.sum[8]), fold);
  acc[0] = AddScaled(acc[0], low, d, _mm256_loadu_ps(a.d));
  acc[1] = AddScaled(acc[1], high, d, _mm256_loadu_ps(a.d + 8));
}

void StoreRows(const MmqTilesArgs& args, int64_t out, int64_t first, int rows,
               const __m256 (*acc)[2]) {
  alignas(32) float sums[kTiles * kTileRows];
  for (int t = 0; t < kTiles; ++t) {
    _mm256_store_ps(sums + t * kTileRows, acc[t][0]);
    _mm256_store_ps(sums + t * kTileRows + 8, acc[t][1]);
  }
  for (int r = 0; r < rows; ++r) {
    float* y = args.y + (first + r) * args.ldy + out;
    *y = args.bias == nullptr ? sums[r] : sums[r] + args.bias[out];
  }
}

template <KernelFault kFault>
void OneOutput(const MmqTilesArgs& args, int64_t out, int64_t first, int rows) {
  const int64_t supers = args.k / kSuperBlock;
  const int tiles = static_cast<int>((rows + kTileRows - 1) / kTileRows);
  __m256 acc[kTiles][2];
  for (int t = 0; t < kTiles; ++t) acc[t][0] = acc[t][1] = _mm256_setzero_ps();
  Super super;
  for (int64_t s = 0; s < supers; ++s) {
    const int64_t at = out * supers + s;
    if (args.expanded != nullptr) {
      Unpack<kFault>(args.expanded + 8 * at, &super);
    } else {
      Unpack<kFault>(static_cast<const BlockQ6_K*>(args.w)[at], &super);
    }
    const ActivationTile* a = args.a + first / kTileRows * 8 * supers + 8 * s;
    for (int t = 0; t < tiles; ++t, a += 8 * supers) {
      for (int c = 0; c < 8; ++c) MultiplyChunk(super, c, a[c], acc[t]);
    }
  }
  StoreRows(args, out, first, rows, acc);
}

template <KernelFault kFault>
void Run(const MmqTilesArgs& args, Range outs) {
  for (int64_t first = 0; first < args.rows; first += kTiles * kTileRows) {
    const int64_t left = args.rows - first;
    const int rows = left < kTiles * kTileRows ? static_cast<int>(left) : kTiles * kTileRows;
    for (int64_t o = outs.begin; o < outs.end; ++o) OneOutput<kFault>(args, o, first, rows);
  }
}

}  // namespace

void MmqTilesQ6KAvx2(const MmqTilesArgs& args, Range outs, KernelFault fault) {
  switch (fault) {
    case KernelFault::kSwapHalfScales:
      return Run<KernelFault::kSwapHalfScales>(args, outs);
    case KernelFault::kCoarseQ6K:
      return Run<KernelFault::kCoarseQ6K>(args, outs);
    default:
      return Run<KernelFault::kNone>(args, outs);
  }
}

}  // namespace fg
