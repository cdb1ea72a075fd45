// The rows of a tile lie in the lanes; four bytes of packed nibbles of an output are broadcast,
// unpacked in registers and multiplied with up to eight tiles, several outputs at a time. The upper
// nibbles stay where they are in their byte: 16 * n is an unsigned byte too, and the factor 16 is
// taken out of d, which is exact where d is neither tiny nor huge (kSmallest, kLargest); else the
// sum is shifted.
#include <immintrin.h>

#include "kernels/cpu/mmq_tiles_forms.h"
#include "kernels/cpu/scale_pairs_avx2.h"

namespace fg {
namespace {

constexpr int kMaxTiles = 8;    // of one row block: 128 rows
constexpr int kMaxOuts = 12;    // multiplied at a time
constexpr int kChunks = 8;      // of one step over K: a super-block, 5 KiB a tile
constexpr int kOutBlock = 480;  // outputs that share a row block's activations; 246 KiB of sums
// d times a scale and its sixteenth are both normal, finite numbers for d in this range: a scale
// is zero or at least 2^-24, and at most 2^22.
constexpr int kSmallest = 0x0E800000;  // 2^-98
constexpr int kLargest = 0x71800000;   // 2^100

using Lanes = float[kTileRows];

// Accumulators of a block of outputs, carried over K (the rows behind take what nobody reads), and
// one step's activations: copied, so that they lie on whole cache lines and in all cache sets.
struct alignas(64) Block {
  Lanes acc[kOutBlock + kMaxOuts][kMaxTiles];
  int8_t q[kChunks][kMaxTiles][8][kTileRows * 4];
  Lanes d[kChunks][kMaxTiles];     // of upper nibbles: a sixteenth
  Lanes dsum[kChunks][kMaxTiles];  // d * f32(msum); its rounding does not depend on the output
};

// Where a row block's step over K finds its activations.
struct Step {
  const ActivationTile* a;  // of chunk 0 of tile 0
  int64_t stride;           // in tiles, from one tile of rows to the next
};

// Some outputs' packed nibbles and scales of one step.
struct OutStep {
  const uint8_t* q[kMaxOuts];
  const float* scales[kMaxOuts];  // ws and wm of chunk c at [c * scale_stride]
  int64_t scale_stride;
};

inline bool IsHigh(int chunk, bool swap) { return (chunk % 2 == 1) != swap; }

// Fills d and dsum; false where a sixteenth of a d would not be exact, and then d is as it was.
template <KernelFault kFault>
bool FillTables(const Step& step, int tiles, Block* block) {
  constexpr bool kSwap = kFault == KernelFault::kSwapNibbles;
  const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
  bool exact = true;
  for (int pass = 0; pass < 2; ++pass) {
    for (int c = 0; c < kChunks; ++c) {
      const float factor = IsHigh(c, kSwap) && exact ? 0.0625f : 1.0f;
      for (int t = 0; t < tiles; ++t) {
        const ActivationTile& tile = step.a[t * step.stride + c];
        for (int i = 0; i < 8 && pass == 0; ++i) {
          _mm512_store_si512(block->q[c][t][i], _mm512_loadu_si512(tile.q[i]));
        }
        const __m512 d = _mm512_loadu_ps(tile.d);
        const __m512i bits = _mm512_and_si512(_mm512_castps_si512(d), magnitude);
        const __mmask16 inside = _mm512_cmple_epi32_mask(bits, _mm512_set1_epi32(kLargest)) &
                                 _mm512_cmpge_epi32_mask(bits, _mm512_set1_epi32(kSmallest));
        const __mmask16 free = _mm512_testn_epi32_mask(bits, bits) |
                               _mm512_cmpgt_epi32_mask(bits, _mm512_set1_epi32(0x7F800000));
        if (pass == 0 && static_cast<__mmask16>(inside | free) != 0xFFFF) exact = false;
        const __m512i msum = _mm512_madd_epi16(_mm512_loadu_si512(tile.sum), _mm512_set1_epi16(1));
        __m512 dsum = _mm512_mul_ps(d, _mm512_cvtepi32_ps(msum));
        if (kFault == KernelFault::kDropMin && c == 5) dsum = _mm512_setzero_ps();
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

// kOuts outputs with kTiles tiles over the step's chunks.
template <int kTiles, int kOuts, bool kShift>
__attribute__((noinline)) void Multiply(const Block& block, bool swap, const OutStep& outs,
                                        Lanes (*acc)[kMaxTiles]) {
  for (int c = 0; c < kChunks; ++c) {
    asm volatile("" ::: "memory");  // or the sums are kept on the stack too, with stores twice
    const bool high = IsHigh(c, swap);
    const __m512i nibble = _mm512_set1_epi8(static_cast<char>(high ? 0xF0 : 0x0F));
    __m512i dot[kOuts][kTiles];
#pragma GCC unroll 16
    for (int o = 0; o < kOuts; ++o) {
#pragma GCC unroll 8
      for (int t = 0; t < kTiles; ++t) dot[o][t] = _mm512_setzero_si512();
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      __m512i w[kOuts];
#pragma GCC unroll 16
      for (int o = 0; o < kOuts; ++o) {
        w[o] = _mm512_and_si512(Broadcast(outs.q[o] + 32 * (c / 2) + 4 * i), nibble);
      }
#pragma GCC unroll 8
      for (int t = 0; t < kTiles; ++t) {
        __m512i values = _mm512_load_si512(block.q[c][t][i]);
        asm("" : "+v"(values));  // loaded once for all outputs: the load ports are the next limit
#pragma GCC unroll 16
        for (int o = 0; o < kOuts; ++o) dot[o][t] = _mm512_dpbusd_epi32(dot[o][t], w[o], values);
      }
    }
    const __m128i shift = _mm_cvtsi32_si128(high ? 4 : 0);
#pragma GCC unroll 16
    for (int o = 0; o < kOuts; ++o) {
      AddChunk<kTiles, kShift>(dot[o], outs.scales[o] + c * outs.scale_stride, block.d[c],
                               block.dsum[c], shift, acc[o]);
    }
  }
}

// What of the weights all steps of one matrix share.
struct Weights {
  const BlockQ4_K* blocks;
  const ScalePair* scales;
  int64_t supers;
  int64_t out_total;
};

// Output `o` as number `i` of the step; `decoded` holds its scales where there is no plane.
inline void AddOut(const Weights& w, int64_t o, int64_t s, int i, float* decoded, OutStep* step) {
  const BlockQ4_K& block = w.blocks[o * w.supers + s];
  step->q[i] = block.q;
  if (w.scales == nullptr) {
    DecodeScalePairs(block, 0, decoded);
    DecodeScalePairs(block, 1, decoded + kChunks);
    step->scales[i] = decoded;
  } else {
    step->scales[i] = &w.scales[ScalePairIndex(kChunks * s, o, w.out_total)].ws;
  }
}

inline void Prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }

// What output `o` will be read for: the weights' rows lie far apart, and no hardware sees a stream.
inline void PrefetchOut(const Weights& w, int64_t o, int64_t s) {
  const BlockQ4_K& block = w.blocks[o * w.supers + s];
  for (int line = 0; line < 3; ++line) Prefetch(reinterpret_cast<const char*>(&block) + 64 * line);
}

// A region of `runs` stretches of `lines` cache lines that will be needed soon, fetched to L2 a few
// lines at a time.
struct Ahead {
  const char* at;
  int64_t stride;  // bytes from one stretch to the next
  int lines;
  int runs;
  int line = 0;

  void Fetch(int count) {
    for (; count > 0 && runs > 0; --count) {
      _mm_prefetch(at + 64 * line, _MM_HINT_T1);
      if (++line < lines) continue;
      line = 0;
      at += stride;
      --runs;
    }
  }
};

// The tiles of the next step, or after the last step where the sums will be stored.
inline Ahead MakeAhead(const MmqTilesArgs& args, const Step& step, bool last, int tiles,
                       int64_t row, Range outs) {
  if (!last) {
    const int lines = kChunks * static_cast<int>(sizeof(ActivationTile)) / 64;
    const int64_t stride = step.stride * static_cast<int64_t>(sizeof(ActivationTile));
    return {reinterpret_cast<const char*>(step.a + kChunks), stride, lines, tiles};
  }
  const int64_t left = args.rows - row;
  const int rows = left < tiles * kTileRows ? static_cast<int>(left) : tiles * kTileRows;
  const float* y = args.y + row * args.ldy + outs.begin;
  return {reinterpret_cast<const char*>(y), args.ldy * static_cast<int64_t>(sizeof(float)),
          static_cast<int>((outs.size() + 15) / 16), rows};
}

// All outputs of a block. Behind the last one the last is taken again, and the result not read.
template <int kTiles, int kOuts, bool kShift>
void MultiplyBlock(const Weights& w, Ahead ahead, bool swap, int64_t s, Range outs, Block* block) {
  OutStep step;
  step.scale_stride = w.scales == nullptr ? 2 : 2 * w.out_total;
  float decoded[kOuts][2 * kChunks];
  const int groups = static_cast<int>((outs.size() + kOuts - 1) / kOuts);
  const int share = (ahead.lines * ahead.runs + groups - 1) / groups;
  for (int64_t o = outs.begin; o < outs.end; o += kOuts) {
    for (int i = 0; i < kOuts; ++i) {
      if (o + i + 2 * kOuts < outs.end) PrefetchOut(w, o + i + 2 * kOuts, s);
      AddOut(w, o + i < outs.end ? o + i : outs.end - 1, s, i, decoded[i], &step);
    }
    if (w.scales != nullptr && o + 24 < outs.end) {
      for (int c = 0; c < kChunks; ++c) {
        Prefetch(&w.scales[ScalePairIndex(kChunks * s + c, o + 24, w.out_total)]);
      }
    }
    ahead.Fetch(share);
    Multiply<kTiles, kOuts, kShift>(*block, swap, step, block->acc + (o - outs.begin));
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

// kTiles tiles from `tile` on with a block of outputs, kOuts at a time.
template <int kTiles, int kOuts, KernelFault kFault>
void RunBlock(const MmqTilesArgs& args, int64_t tile, Range outs, Block* block) {
  const int64_t supers = args.k / kSuperBlock;
  const Weights w = {static_cast<const BlockQ4_K*>(args.w), args.scales, supers, args.out_total};
  for (int64_t o = 0; o < outs.size(); ++o) {
    for (int t = 0; t < kTiles; ++t) _mm512_store_ps(block->acc[o][t], _mm512_setzero_ps());
  }
  constexpr bool kSwap = kFault == KernelFault::kSwapNibbles;
  for (int64_t s = 0; s < supers; ++s) {
    const Step step = {args.a + (tile * supers + s) * 8, supers * 8};
    const Ahead ahead = MakeAhead(args, step, s + 1 == supers, kTiles, tile * kTileRows, outs);
    if (FillTables<kFault>(step, kTiles, block)) {
      MultiplyBlock<kTiles, kOuts, false>(w, ahead, kSwap, s, outs, block);
    } else {
      MultiplyBlock<kTiles, kOuts, true>(w, ahead, kSwap, s, outs, block);
    }
  }
  for (int t = 0; t < kTiles; ++t) {
    StoreTile(args, *block, t, (tile + t) * kTileRows, outs);
  }
}

// Tiles times outputs: as many sums as leave registers for the operands.
template <KernelFault kFault>
void Run(const MmqTilesArgs& args, Range outs) {
  const int64_t tiles = TileCount(args.rows);
  Block block;
  for (int64_t o = outs.begin; o < outs.end; o += kOutBlock) {
    const Range part = {o, o + kOutBlock < outs.end ? o + kOutBlock : outs.end};
    int64_t t = 0;
    for (; t + 8 <= tiles; t += 8) RunBlock<8, 3, kFault>(args, t, part, &block);
    for (; t + 4 <= tiles; t += 4) RunBlock<4, 6, kFault>(args, t, part, &block);
    const int64_t left = tiles - t;
    if (left == 3) RunBlock<3, 8, kFault>(args, t, part, &block);
    if (left == 2) RunBlock<2, 12, kFault>(args, t, part, &block);
    if (left == 1) RunBlock<1, 12, kFault>(args, t, part, &block);
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
