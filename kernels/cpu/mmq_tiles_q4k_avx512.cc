// The rows of a tile lie in the lanes; four bytes of packed nibbles of one output are broadcast,
// unpacked in registers and multiplied with up to eight tiles. The upper nibbles stay where they
// are in their byte: 16 * n is an unsigned byte too, and the factor 16 is taken out of d, which is
// exact where d is neither tiny nor huge (kSmallest, kLargest); else the sum is shifted.
#include <immintrin.h>

#include "kernels/cpu/mmq_tiles_forms.h"

namespace fg {
namespace {

constexpr int kMaxTiles = 8;   // of one row block: 128 rows
constexpr int kChunks = 4;     // of one step over K: half a super-block, 20 KiB of eight tiles
constexpr int kOutBlock = 64;  // outputs that share a row block's activations
// d times a scale and its sixteenth are both normal, finite numbers for d in this range: a scale
// is zero or at least 2^-24, and at most 2^22.
constexpr int kSmallest = 0x0E800000;  // 2^-98
constexpr int kLargest = 0x71800000;   // 2^100

using Lanes = float[kTileRows];

// Accumulators of a block of outputs, carried over K; the last row takes what nobody reads.
struct alignas(64) Block {
  Lanes acc[kOutBlock + 1][kMaxTiles];
  Lanes d[kChunks][kMaxTiles];     // of upper nibbles: a sixteenth
  Lanes dsum[kChunks][kMaxTiles];  // d * f32(msum); its rounding does not depend on the output
};

// Where a row block's step over K finds its activations.
struct Step {
  const ActivationTile* a;  // of chunk 0 of tile 0
  int64_t stride;           // in tiles, from one tile of rows to the next
};

// An output's packed nibbles and scales of one step.
struct OutStep {
  const uint8_t* q;
  const float* scales;  // ws and wm of chunk c at [c * scale_stride]
  int64_t scale_stride;
  Lanes* acc;
};

inline bool IsHigh(int chunk, bool swap) { return (chunk % 2 == 1) != swap; }

// Fills d and dsum; false where a sixteenth of a d would not be exact, and then d is as it was.
template <KernelFault kFault>
bool FillTables(const Step& step, int tiles, int first_chunk, Block* block) {
  constexpr bool kSwap = kFault == KernelFault::kSwapNibbles;
  const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
  bool exact = true;
  for (int pass = 0; pass < 2; ++pass) {
    for (int c = 0; c < kChunks; ++c) {
      const float factor = IsHigh(c, kSwap) && exact ? 0.0625f : 1.0f;
      for (int t = 0; t < tiles; ++t) {
        const ActivationTile& tile = step.a[t * step.stride + c];
        const __m512 d = _mm512_loadu_ps(tile.d);
        const __m512i bits = _mm512_and_si512(_mm512_castps_si512(d), magnitude);
        const __mmask16 inside = _mm512_cmple_epi32_mask(bits, _mm512_set1_epi32(kLargest)) &
                                 _mm512_cmpge_epi32_mask(bits, _mm512_set1_epi32(kSmallest));
        const __mmask16 free = _mm512_testn_epi32_mask(bits, bits) |
                               _mm512_cmpgt_epi32_mask(bits, _mm512_set1_epi32(0x7F800000));
        if (pass == 0 && static_cast<__mmask16>(inside | free) != 0xFFFF) exact = false;
        const __m512i msum = _mm512_madd_epi16(_mm512_loadu_si512(tile.sum), _mm512_set1_epi16(1));
        __m512 dsum = _mm512_mul_ps(d, _mm512_cvtepi32_ps(msum));
        if (kFault == KernelFault::kDropMin && first_chunk + c == 5) dsum = _mm512_setzero_ps();
        _mm512_store_ps(block->d[c][t], _mm512_mul_ps(d, _mm512_set1_ps(factor)));
        _mm512_store_ps(block->dsum[c][t], dsum);
      }
    }
    if (exact) break;
  }
  return exact;
}

inline __m512i Broadcast(const uint8_t* p) {
  int value;
  __builtin_memcpy(&value, p, sizeof(value));
  return _mm512_set1_epi32(value);
}

// The contract's two steps for all tiles of one output.
template <int kTiles, bool kShift>
inline void AddChunk(const __m512i dot[kTiles], const float* pair, const Lanes* d,
                     const Lanes* dsum, __m128i shift, Lanes* acc) {
  const __m512 ws = _mm512_set1_ps(pair[0]);
  const __m512 wm = _mm512_set1_ps(pair[1]);
#pragma GCC unroll 8
  for (int t = 0; t < kTiles; ++t) {
    const __m512i isum = kShift ? _mm512_sra_epi32(dot[t], shift) : dot[t];
    __m512 sum = _mm512_load_ps(acc[t]);
    sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(isum), _mm512_mul_ps(ws, _mm512_load_ps(d[t])), sum);
    sum = _mm512_fmadd_ps(wm, _mm512_load_ps(dsum[t]), sum);
    _mm512_store_ps(acc[t], sum);
  }
}

// Two outputs with kTiles tiles over the step's chunks.
template <int kTiles, bool kShift>
__attribute__((noinline)) void Multiply(const Step& step, const Block& block, bool swap,
                                        const OutStep& first, const OutStep& second) {
  for (int c = 0; c < kChunks; ++c) {
    const bool high = IsHigh(c, swap);
    const __m512i nibble = _mm512_set1_epi8(static_cast<char>(high ? 0xF0 : 0x0F));
    const uint8_t* q0 = first.q + 32 * (c / 2);
    const uint8_t* q1 = second.q + 32 * (c / 2);
    const ActivationTile* a = step.a + c;
    __m512i dot0[kTiles], dot1[kTiles];
#pragma GCC unroll 8
    for (int t = 0; t < kTiles; ++t) dot0[t] = dot1[t] = _mm512_setzero_si512();
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      const __m512i w0 = _mm512_and_si512(Broadcast(q0 + 4 * i), nibble);
      const __m512i w1 = _mm512_and_si512(Broadcast(q1 + 4 * i), nibble);
#pragma GCC unroll 8
      for (int t = 0; t < kTiles; ++t) {
        const __m512i values = _mm512_loadu_si512(a[t * step.stride].q[i]);
        dot0[t] = _mm512_dpbusd_epi32(dot0[t], w0, values);
        dot1[t] = _mm512_dpbusd_epi32(dot1[t], w1, values);
      }
    }
    const __m128i shift = _mm_cvtsi32_si128(high ? 4 : 0);
    AddChunk<kTiles, kShift>(dot0, first.scales + c * first.scale_stride, block.d[c], block.dsum[c],
                             shift, first.acc);
    AddChunk<kTiles, kShift>(dot1, second.scales + c * second.scale_stride, block.d[c],
                             block.dsum[c], shift, second.acc);
  }
}

// The pairs of sub-blocks 4*half .. 4*half + 3, as docs/gguf.md unpacks them.
inline void DecodeScales(const BlockQ4_K& block, int half, float pairs[2 * kChunks]) {
  uint32_t s[3];
  __builtin_memcpy(s, block.s, sizeof(s));
  uint32_t sc = s[0] & 0x3F3F3F3F, m = s[1] & 0x3F3F3F3F;
  if (half == 1) {
    sc = (s[2] & 0x0F0F0F0F) | ((s[0] >> 2) & 0x30303030);
    m = ((s[2] >> 4) & 0x0F0F0F0F) | ((s[1] >> 2) & 0x30303030);
  }
  const auto scaled = [](uint16_t half_float, __m128 sign, uint32_t six_bits) {
    const __m128 factor = _mm_xor_ps(_mm_set1_ps(_cvtsh_ss(half_float)), sign);
    const __m128i bytes = _mm_cvtsi32_si128(static_cast<int>(six_bits));
    return _mm_mul_ps(factor, _mm_cvtepi32_ps(_mm_cvtepu8_epi32(bytes)));
  };
  const __m128 ws = scaled(block.d, _mm_setzero_ps(), sc);
  const __m128 wm = scaled(block.dmin, _mm_set1_ps(-0.0f), m);
  _mm_storeu_ps(pairs, _mm_unpacklo_ps(ws, wm));
  _mm_storeu_ps(pairs + 4, _mm_unpackhi_ps(ws, wm));
}

// What of the weights all steps of one matrix share.
struct Weights {
  const BlockQ4_K* blocks;
  const ScalePair* scales;
  int64_t supers;
  int64_t out_total;
};

inline OutStep MakeOutStep(const Weights& w, int64_t o, int64_t s, int half, float* decoded,
                           Lanes* acc) {
  const BlockQ4_K& block = w.blocks[o * w.supers + s];
  const uint8_t* q = block.q + 64 * half;
  if (w.scales == nullptr) {
    DecodeScales(block, half, decoded);
    return {q, decoded, 2, acc};
  }
  const int64_t chunk = 8 * s + kChunks * half;
  const ScalePair* pair = w.scales + ScalePairIndex(chunk, o, w.out_total);
  return {q, &pair->ws, 2 * w.out_total, acc};
}

template <int kTiles, bool kShift>
void MultiplyBlock(const Step& step, const Weights& w, bool swap, int64_t s, int half, Range outs,
                   Block* block) {
  for (int64_t o = outs.begin; o < outs.end; o += 2) {
    float decoded[2][2 * kChunks];
    Lanes* acc = block->acc[o - outs.begin];
    const OutStep first = MakeOutStep(w, o, s, half, decoded[0], acc);
    OutStep second = first;
    if (o + 1 < outs.end) {
      second = MakeOutStep(w, o + 1, s, half, decoded[1], acc + kMaxTiles);
    } else {
      second.acc = block->acc[kOutBlock];
    }
    Multiply<kTiles, kShift>(step, *block, swap, first, second);
  }
}

// v[i] lane j becomes v[j] lane i.
inline void Transpose16x16(__m512 v[16]) {
  __m512 t[16];
  for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_unpacklo_ps(v[2 * i], v[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_ps(v[2 * i], v[2 * i + 1]);
  }
  const auto pd = [](__m512 x) { return _mm512_castps_pd(x); };
  for (int i = 0; i < 4; ++i) {  // v[4i + c] holds column c of rows 4i..4i+3 in each 128-bit lane
    for (int c = 0; c < 2; ++c) {
      const __m512 low = t[4 * i + c], high = t[4 * i + 2 + c];
      v[4 * i + 2 * c] = _mm512_castpd_ps(_mm512_unpacklo_pd(pd(low), pd(high)));
      v[4 * i + 2 * c + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(pd(low), pd(high)));
    }
  }
  for (int c = 0; c < 4; ++c) {
    const __m512 a0 = _mm512_shuffle_f32x4(v[c], v[4 + c], 0x88);
    const __m512 a1 = _mm512_shuffle_f32x4(v[c], v[4 + c], 0xDD);
    const __m512 b0 = _mm512_shuffle_f32x4(v[8 + c], v[12 + c], 0x88);
    const __m512 b1 = _mm512_shuffle_f32x4(v[8 + c], v[12 + c], 0xDD);
    t[c] = _mm512_shuffle_f32x4(a0, b0, 0x88);
    t[8 + c] = _mm512_shuffle_f32x4(a0, b0, 0xDD);
    t[4 + c] = _mm512_shuffle_f32x4(a1, b1, 0x88);
    t[12 + c] = _mm512_shuffle_f32x4(a1, b1, 0xDD);
  }
  for (int i = 0; i < 16; ++i) v[i] = t[i];
}

// Rows [row, row + 16) of the block's outputs, from tile t of it, to y.
void StoreTile(const MmqTilesArgs& args, const Block& block, int t, int64_t row, Range outs) {
  const int64_t left = args.rows - row;
  const int rows = left < kTileRows ? static_cast<int>(left) : kTileRows;
  for (int64_t o = outs.begin; o < outs.end; o += 16) {
    const int64_t count = outs.end - o < 16 ? outs.end - o : 16;
    const __mmask16 mask = static_cast<__mmask16>((1u << count) - 1);
    __m512 v[16];
    for (int i = 0; i < 16; ++i) {
      const int64_t at = o - outs.begin + (i < count ? i : 0);
      v[i] = _mm512_load_ps(block.acc[at][t]);
    }
    Transpose16x16(v);
    for (int r = 0; r < rows; ++r) {
      __m512 value = v[r];
      if (args.bias != nullptr) {
        value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(mask, args.bias + o));
      }
      _mm512_mask_storeu_ps(args.y + (row + r) * args.ldy + o, mask, value);
    }
  }
}

// kTiles tiles from `tile` on with a block of outputs.
template <int kTiles, KernelFault kFault>
void RunBlock(const MmqTilesArgs& args, int64_t tile, Range outs, Block* block) {
  const int64_t supers = args.k / kSuperBlock;
  const Weights w = {static_cast<const BlockQ4_K*>(args.w), args.scales, supers, args.out_total};
  for (int64_t o = 0; o < outs.size(); ++o) {
    for (int t = 0; t < kTiles; ++t) _mm512_store_ps(block->acc[o][t], _mm512_setzero_ps());
  }
  constexpr bool kSwap = kFault == KernelFault::kSwapNibbles;
  for (int64_t s = 0; s < supers; ++s) {
    for (int half = 0; half < 2; ++half) {
      const int first_chunk = kChunks * half;
      const Step step = {args.a + (tile * supers + s) * 8 + first_chunk, supers * 8};
      if (FillTables<kFault>(step, kTiles, first_chunk, block)) {
        MultiplyBlock<kTiles, false>(step, w, kSwap, s, half, outs, block);
      } else {
        MultiplyBlock<kTiles, true>(step, w, kSwap, s, half, outs, block);
      }
    }
  }
  for (int t = 0; t < kTiles; ++t) {
    StoreTile(args, *block, t, (tile + t) * kTileRows, outs);
  }
}

template <KernelFault kFault>
void Run(const MmqTilesArgs& args, Range outs) {
  const int64_t tiles = TileCount(args.rows);
  Block block;
  for (int64_t o = outs.begin; o < outs.end; o += kOutBlock) {
    const Range part = {o, o + kOutBlock < outs.end ? o + kOutBlock : outs.end};
    int64_t t = 0;
    for (; t + 8 <= tiles; t += 8) RunBlock<8, kFault>(args, t, part, &block);
    for (; t + 4 <= tiles; t += 4) RunBlock<4, kFault>(args, t, part, &block);
    for (; t + 2 <= tiles; t += 2) RunBlock<2, kFault>(args, t, part, &block);
    for (; t < tiles; ++t) RunBlock<1, kFault>(args, t, part, &block);
  }
}

}  // namespace

void MmqTilesQ4KAvx512(const MmqTilesArgs& args, Range outs, KernelFault fault) {
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
