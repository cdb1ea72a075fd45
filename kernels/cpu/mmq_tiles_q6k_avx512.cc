// The rows of a tile lie in the lanes; four values of an output are broadcast and multiplied with
// up to four tiles, three outputs at a time: 24 sums in registers. A dot product starts at kMagic -
// 32 * s, s the sum of its activations: with the offset so folded in it ends within 65024 of
// kMagic, whose bits are those of the f32 1.5 * 2^23 with units of 1. Read as an f32 it needs no
// conversion: fma(f, sc, -kMagicValue * sc) = sc * dot, exact, and the sum of two such, below 2^24,
// is exact too.
#include <immintrin.h>

#include "kernels/cpu/mmq_tiles_forms.h"

namespace fg {
namespace {

constexpr int kMagic = 0x4B400000;
constexpr float kMagicValue = 12582912.0f;
constexpr int kGroup = 4;       // tiles that share a broadcast: 22 KiB of a super-block in L1
constexpr int kTiles = 16;      // of one row block, which shares unpacked weights
constexpr int kOutBlock = 192;  // outputs that share a copy of the activations; 200 KiB of sums

using Lanes = float[kTileRows];

// One super-block of one output, unpacked.
struct alignas(64) Weights {
  uint8_t n[256];  // 0..63, in order
  float sc[16];
  float fold[16];  // -kMagicValue * sc, exact
  float d[8];
};

// One chunk of one tile, on whole cache lines.
struct alignas(64) Chunk {
  int8_t q[8][kTileRows * 4];
  int32_t start[2][kTileRows];  // of the dot products of values 0..15 and 16..31
  Lanes d;
};

struct alignas(64) Block {
  Lanes acc[kOutBlock][kTiles];  // carried over K
  Chunk a[8][kGroup];            // a super-block of the tiles at hand
  Weights w[kOutBlock];
};

template <KernelFault kFault>
inline __m512i Keep(__m512i n) {
  if (kFault != KernelFault::kCoarseQ6K) return n;
  return _mm512_and_si512(n, _mm512_set1_epi8(0x3C));
}

inline void StoreScales(__m512 sc, Weights* w) {
  _mm512_store_ps(w->sc, sc);
  _mm512_store_ps(w->fold, _mm512_mul_ps(sc, _mm512_set1_ps(-kMagicValue)));
}

// docs/gguf.md: the lower half of each vector is quarter 0 or 2 of 128 values, the upper 1 or 3.
template <KernelFault kFault>
void Unpack(const BlockQ6_K& block, Weights* w) {
  const __m512i four = _mm512_set1_epi8(15);
  const __m512i top = _mm512_set1_epi8(0x30);
  const __m512i left = _mm512_inserti64x4(_mm512_set1_epi16(2), _mm256_set1_epi16(4), 0);
  const __m512i right = _mm512_inserti64x4(_mm512_set1_epi16(2), _mm256_setzero_si256(), 0);
  for (int half = 0; half < 2; ++half) {
    const __m512i low = _mm512_loadu_si512(block.ql + 64 * half);
    const void* qh = block.qh + 32 * half;
    const __m512i high =
        _mm512_broadcast_i64x4(_mm256_loadu_si256(static_cast<const __m256i*>(qh)));
    // a | (b & top)
    const __m512i first = _mm512_ternarylogic_epi32(_mm512_and_si512(low, four),
                                                    _mm512_sllv_epi16(high, left), top, 0xF8);
    const __m512i second =
        _mm512_ternarylogic_epi32(_mm512_and_si512(_mm512_srli_epi16(low, 4), four),
                                  _mm512_srlv_epi16(high, right), top, 0xF8);
    _mm512_store_si512(w->n + 128 * half, Keep<kFault>(first));
    _mm512_store_si512(w->n + 128 * half + 64, Keep<kFault>(second));
  }
  const __m128i scales = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block.scales));
  const __m512 sc = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(scales));
  StoreScales(kFault == KernelFault::kSwapHalfScales ? _mm512_permute_ps(sc, 0xB1) : sc, w);
  _mm256_store_ps(w->d, _mm256_set1_ps(_cvtsh_ss(block.d)));
}

template <KernelFault kFault>
void Unpack(const ExpandedChunkQ6_K* chunks, Weights* w) {
  constexpr int kStep = sizeof(ExpandedChunkQ6_K);
  const auto load = [&](int c) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(chunks[c].q));
  };
  for (int c = 0; c < 8; c += 2) {
    const __m512i q = _mm512_inserti64x4(_mm512_castsi256_si512(load(c)), load(c + 1), 1);
    _mm512_store_si512(w->n + 32 * c, Keep<kFault>(_mm512_add_epi8(q, _mm512_set1_epi8(32))));
  }
  const __m256i at =
      _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(kStep));
  _mm256_store_ps(w->d, _mm256_i32gather_ps(&chunks->d, at, 1));
  const int* scales = reinterpret_cast<const int*>(chunks->sc);
  const __m128i pairs = _mm256_cvtepi32_epi16(_mm256_i32gather_epi32(scales, at, 1));
  StoreScales(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(pairs)), w);
}

// Copies a super-block of kCount tiles: as they lie, every vector may cross two cache lines.
template <int kCount>
void CopyTiles(const ActivationTile* a, int64_t stride, Block* block) {
  const __m512i magic = _mm512_set1_epi32(kMagic);
  for (int t = 0; t < kCount; ++t, a += stride) {
    for (int c = 0; c < 8; ++c) {
      Chunk* chunk = &block->a[c][t];
      for (int i = 0; i < 8; ++i) {
        _mm512_store_si512(chunk->q[i], _mm512_loadu_si512(a[c].q[i]));
      }
      const __m512i sums = _mm512_loadu_si512(a[c].sum);
      const __m512i s0 = _mm512_srai_epi32(_mm512_slli_epi32(sums, 16), 16);
      const __m512i s1 = _mm512_srai_epi32(sums, 16);
      _mm512_store_si512(chunk->start[0], _mm512_sub_epi32(magic, _mm512_slli_epi32(s0, 5)));
      _mm512_store_si512(chunk->start[1], _mm512_sub_epi32(magic, _mm512_slli_epi32(s1, 5)));
      _mm512_store_ps(chunk->d, _mm512_loadu_ps(a[c].d));
    }
  }
}

// Keeps a loaded vector in its register: g++ would load it again for every use.
template <typename Vector>
inline Vector Pinned(Vector v) {
  asm("" : "+v"(v));
  return v;
}

inline __m512i Broadcast(const uint8_t* p) {
  int value;
  __builtin_memcpy(&value, p, sizeof(value));
  return Pinned(_mm512_set1_epi32(value));
}

inline __m512 Broadcast(const float* p) { return Pinned(_mm512_set1_ps(*p)); }

// Half `h` of chunk `c`: scaled[o][t] = sc * dot, exact.
template <int kOuts, int kCount>
inline void MultiplyHalf(const Weights* w, int c, int h, const Chunk* a,
                         __m512 (&scaled)[kOuts][kCount]) {
  __m512i dot[kOuts][kCount];
#pragma GCC unroll 4
  for (int t = 0; t < kCount; ++t) {
    const __m512i start = Pinned(_mm512_load_si512(a[t].start[h]));
#pragma GCC unroll 4
    for (int o = 0; o < kOuts; ++o) dot[o][t] = start;
  }
#pragma GCC unroll 4
  for (int i = 4 * h; i < 4 * h + 4; ++i) {
    __m512i values[kCount];
#pragma GCC unroll 4
    for (int t = 0; t < kCount; ++t) values[t] = Pinned(_mm512_load_si512(a[t].q[i]));
#pragma GCC unroll 4
    for (int o = 0; o < kOuts; ++o) {
      const __m512i n = Broadcast(w[o].n + 32 * c + 4 * i);
#pragma GCC unroll 4
      for (int t = 0; t < kCount; ++t) dot[o][t] = _mm512_dpbusd_epi32(dot[o][t], n, values[t]);
    }
  }
#pragma GCC unroll 4
  for (int o = 0; o < kOuts; ++o) {
    const __m512 sc = Broadcast(w[o].sc + 2 * c + h), fold = Broadcast(w[o].fold + 2 * c + h);
#pragma GCC unroll 4
    for (int t = 0; t < kCount; ++t) {
      scaled[o][t] = _mm512_fmadd_ps(_mm512_castsi512_ps(dot[o][t]), sc, fold);
    }
  }
}

// kOuts neighbouring outputs with kCount tiles over a super-block. acc[o] begins with tile 0.
template <int kOuts, int kCount>
__attribute__((noinline)) void Multiply(const Weights* w, const Chunk (*a)[kGroup],
                                        Lanes (*acc)[kTiles]) {
  for (int c = 0; c < 8; ++c) {
    __m512 first[kOuts][kCount], second[kOuts][kCount];
    MultiplyHalf<kOuts, kCount>(w, c, 0, a[c], first);
    MultiplyHalf<kOuts, kCount>(w, c, 1, a[c], second);
#pragma GCC unroll 4
    for (int o = 0; o < kOuts; ++o) {
      const __m512 d = Broadcast(w[o].d + c);
#pragma GCC unroll 4
      for (int t = 0; t < kCount; ++t) {
        float* sum = acc[o][t];
        const __m512 scale = _mm512_mul_ps(d, _mm512_load_ps(a[c][t].d));
        const __m512 isum = _mm512_add_ps(first[o][t], second[o][t]);
        _mm512_store_ps(sum, _mm512_fmadd_ps(isum, scale, _mm512_load_ps(sum)));
      }
    }
  }
}

// Asks for `bytes` at p, which the next step reads, to the second-level cache. Beyond the last row
// it asks for what nobody reads.
inline void Prefetch(const void* p, int bytes) {
  const char* at = static_cast<const char*>(p);
  for (int i = 0; i < bytes; i += 64) _mm_prefetch(at + i, _MM_HINT_T1);
}

// Where the weights of a block of outputs begin that the next step over K unpacks.
struct NextWeights {
  const char* at;
  int64_t row_bytes;
  int bytes;  // of a super-block
};

// kCount tiles from tile `t` of the row block on, with all outputs of the block. Asks on the way
// for `next`, the tiles after them or tile 0's next super-block, and in the first group for the
// next weights.
template <int kCount>
void MultiplyGroup(const ActivationTile* a, const ActivationTile* next, int64_t stride, int t,
                   int outs, const NextWeights& w, Block* block) {
  CopyTiles<kCount>(a, stride, block);
  const auto acc = [&](int o) { return reinterpret_cast<Lanes(*)[kTiles]>(block->acc[o] + t); };
  int o = 0;
  for (; o + 3 <= outs; o += 3) {
    const int part = o / 3;  // one chunk of one tile at each step
    if (part < 8 * kCount) Prefetch(next + part / 8 * stride + part % 8, sizeof(ActivationTile));
    for (int i = 0; i < 3 && t == 0; ++i) Prefetch(w.at + (o + i) * w.row_bytes, w.bytes);
    Multiply<3, kCount>(block->w + o, block->a, acc(o));
  }
  for (; o < outs; ++o) Multiply<1, kCount>(block->w + o, block->a, acc(o));
}

template <KernelFault kFault>
void UnpackBlock(const MmqTilesArgs& args, Range outs, int64_t s, Block* block) {
  const int64_t supers = args.k / kSuperBlock;
  for (int64_t o = outs.begin; o < outs.end; ++o) {
    const int64_t at = o * supers + s;
    if (args.expanded != nullptr) {
      Unpack<kFault>(args.expanded + 8 * at, &block->w[o - outs.begin]);
    } else {
      Unpack<kFault>(static_cast<const BlockQ6_K*>(args.w)[at], &block->w[o - outs.begin]);
    }
  }
}

// Super-block `s` of the outputs from `out` on.
NextWeights After(const MmqTilesArgs& args, int64_t out, int64_t s) {
  const int64_t supers = args.k / kSuperBlock;
  const bool plane = args.expanded != nullptr;
  const int bytes = plane ? 8 * sizeof(ExpandedChunkQ6_K) : sizeof(BlockQ6_K);
  const void* w = plane ? static_cast<const void*>(args.expanded) : args.w;
  return {static_cast<const char*>(w) + (out * supers + s) * bytes, supers * bytes, bytes};
}

// Tile t of the row block, which begins at row `row` of y.
void StoreTile(const MmqTilesArgs& args, const Block& block, int t, int64_t row, Range outs) {
  const int64_t left = args.rows - row;
  const int rows = left < kTileRows ? static_cast<int>(left) : kTileRows;
  const __m512i at =
      _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                         _mm512_set1_epi32(kTiles * kTileRows));
  for (int64_t o = outs.begin; o < outs.end; o += 16) {
    const __mmask16 mask =
        outs.end - o < 16 ? static_cast<__mmask16>((1u << (outs.end - o)) - 1) : 0xFFFF;
    const __m512 bias =
        args.bias == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(mask, args.bias + o);
    for (int r = 0; r < rows; ++r) {
      const float* first = &block.acc[o - outs.begin][t][r];
      __m512 v = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), mask, at, first, 4);
      if (args.bias != nullptr) v = _mm512_add_ps(v, bias);
      _mm512_mask_storeu_ps(args.y + (row + r) * args.ldy + o, mask, v);
    }
  }
}

template <KernelFault kFault>
void RunBlock(const MmqTilesArgs& args, int64_t tile, int tiles, Range outs, Block* block) {
  const int64_t supers = args.k / kSuperBlock;
  const int64_t stride = 8 * supers;
  const int count = static_cast<int>(outs.end - outs.begin);
  for (Lanes(&lanes)[kTiles] : block->acc) {
    for (int t = 0; t < tiles; ++t) _mm512_store_ps(lanes[t], _mm512_setzero_ps());
  }
  for (int64_t s = 0; s < supers; ++s) {
    UnpackBlock<kFault>(args, outs, s, block);
    const ActivationTile* a = args.a + tile * stride + 8 * s;
    const NextWeights w = After(args, outs.begin, s + 1);
    int t = 0;
    const auto next = [&](int after) { return after < tiles ? a + after * stride : a + 8; };
    for (; t + 4 <= tiles; t += 4)
      MultiplyGroup<4>(a + t * stride, next(t + 4), stride, t, count, w, block);
    for (; t + 2 <= tiles; t += 2)
      MultiplyGroup<2>(a + t * stride, next(t + 2), stride, t, count, w, block);
    for (; t < tiles; ++t)
      MultiplyGroup<1>(a + t * stride, next(t + 1), stride, t, count, w, block);
  }
  for (int t = 0; t < tiles; ++t) {
    StoreTile(args, *block, t, (tile + t) * kTileRows, outs);
  }
}

template <KernelFault kFault>
void Run(const MmqTilesArgs& args, Range outs) {
  const int64_t tiles = (args.rows + kTileRows - 1) / kTileRows;
  Block block;
  for (int64_t o = outs.begin; o < outs.end; o += kOutBlock) {
    const Range part = {o, o + kOutBlock < outs.end ? o + kOutBlock : outs.end};
    for (int64_t t = 0; t < tiles; t += kTiles) {
      const int count = tiles - t < kTiles ? static_cast<int>(tiles - t) : kTiles;
      RunBlock<kFault>(args, t, count, part, &block);
    }
  }
}

}  // namespace

void MmqTilesQ6KAvx512(const MmqTilesArgs& args, Range outs, KernelFault fault) {
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
