// Sixteen outputs lie in the lanes of a vector; a chunk of two such vectors is unpacked into
// registers and stays there for all rows of a block. The offset 32 and the conversion to f32 are
// folded into where a dot product starts, as in mmq_tiles_q6k_avx512.cc.
#include "kernels/cpu/mmq_avx512.h"
#include "kernels/cpu/mmq_forms.h"

namespace fg {
namespace {

constexpr int kMagic = 0x4B400000;  // the bits of 1.5 * 2^23, where an f32 has units of 1
constexpr float kMagicValue = 12582912.0f;
constexpr int kAhead = 8;  // chunks of a row that are asked for before their turn

using Lanes = float[kWide];

// One chunk of 16 outputs.
struct alignas(64) Tile {
  __m512i n[8];    // n[i] has values 4i to 4i+3, unsigned
  __m512 sc[2];    // of values 0-15 and 16-31
  __m512 fold[2];  // -kMagicValue * sc, exact
  __m512 d;

  void SetScales(__m512 sc0, __m512 sc1) {
    sc[0] = sc0;
    sc[1] = sc1;
    for (int h = 0; h < 2; ++h) fold[h] = _mm512_mul_ps(sc[h], _mm512_set1_ps(-kMagicValue));
  }
};

// load(i, from): 16 bytes of rows i, i+4, i+8, i+12 at `from` of the chunk, unsigned values.
template <KernelFault kFault, typename Load>
inline void SetValues(const Load& load, Tile* tile) {
  const __m512i six = _mm512_set1_epi8(kFault == KernelFault::kCoarseQ6K ? 0x3C : 0x3F);
  for (int h = 0; h < 2; ++h) {
    __m512i v[4];
    for (int i = 0; i < 4; ++i) v[i] = _mm512_and_si512(load(i, 16 * h), six);
    TransposeIn128(v);
    for (int i = 0; i < 4; ++i) tile->n[4 * h + i] = v[i];
  }
}

template <KernelFault kFault>
struct Raw {
  static constexpr int64_t kSuperBytes = sizeof(BlockQ6_K);

  static void Decode(const WideGroup& group, int64_t offset, int c, Tile* tile) {
    const int half = c / 4, quarter = c % 4;
    const int64_t low_at = offset + 64 * half + 32 * (quarter % 2);
    const int64_t high_at = offset + 128 + 32 * half;
    const __m128i low_shift = _mm_cvtsi32_si128(quarter < 2 ? 0 : 4);
    const __m128i high_shift = _mm_cvtsi32_si128(2 * quarter);
    const auto load = [&](int i, int from) {
      const __m512i ql = _mm512_srl_epi16(Load16x4(group, i, low_at + from), low_shift);
      const __m512i qh = _mm512_srl_epi16(Load16x4(group, i, high_at + from), high_shift);
      // Where the mask has ones the nibble's bits, else the upper ones.
      return _mm512_ternarylogic_epi32(_mm512_set1_epi8(15), ql, _mm512_slli_epi16(qh, 4), 0xCA);
    };
    SetValues<kFault>(load, tile);
    constexpr int kSwap = kFault == KernelFault::kSwapHalfScales ? 1 : 0;
    const __m512i four = Gather32(group, offset + 192 + 4 * (c / 2));
    const int first = 2 * (c % 2);
    tile->SetScales(SignedByteToF32(four, first + kSwap), SignedByteToF32(four, first + 1 - kSwap));
    tile->d = HighHalfs(Gather32(group, offset + 206));  // the block's last four bytes
  }
};

template <KernelFault kFault>
struct Expanded {
  static constexpr int64_t kSuperBytes = 8 * sizeof(ExpandedChunkQ6_K);

  static void Decode(const WideGroup& group, int64_t offset, int c, Tile* tile) {
    const int64_t at = offset + c * static_cast<int64_t>(sizeof(ExpandedChunkQ6_K));
    const auto load = [&](int i, int from) {
      return _mm512_add_epi8(Load16x4(group, i, at + from), _mm512_set1_epi8(32));
    };
    SetValues<kFault>(load, tile);
    const __m512i scales = Gather32(group, at + 36);
    tile->SetScales(SignedByteToF32(scales, 0), SignedByteToF32(scales, 1));
    tile->d = _mm512_castsi512_ps(Gather32(group, at + 32));
  }
};

// Keeps a loaded vector in its register: g++ would load it again for every use.
template <typename Vector>
inline Vector Pinned(Vector v) {
  asm("" : "+v"(v));
  return v;
}

// kRows rows, `stride` chunks apart. acc[r * kGroups + g].
template <int kGroups, int kRows>
inline void MultiplyRows(const __m512i (&n)[kGroups][8], const Tile* tiles,
                         const ActivationChunk* a, int64_t stride, Lanes* acc) {
  __m512 isum[kRows][kGroups];
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h) {
    // kMagic - 32 * sum[h]: the pair of sums times (-32, 0) or (0, -32).
    const __m512i minus = _mm512_set1_epi32(h == 0 ? 0x0000FFE0 : static_cast<int>(0xFFE00000));
    __m512i dot[kRows][kGroups];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const __m512i start =
          Pinned(_mm512_dpwssd_epi32(_mm512_set1_epi32(kMagic), minus, RepeatSums(a[r * stride])));
#pragma GCC unroll 2
      for (int g = 0; g < kGroups; ++g) dot[r][g] = start;
    }
#pragma GCC unroll 4
    for (int i = 4 * h; i < 4 * h + 4; ++i) {
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        int word;
        __builtin_memcpy(&word, a[r * stride].q + 4 * i, sizeof(word));
        const __m512i words = Pinned(_mm512_set1_epi32(word));
#pragma GCC unroll 2
        for (int g = 0; g < kGroups; ++g) {
          dot[r][g] = _mm512_dpbusd_epi32(dot[r][g], n[g][i], words);
        }
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int g = 0; g < kGroups; ++g) {
        const __m512 part =
            _mm512_fmadd_ps(_mm512_castsi512_ps(dot[r][g]), tiles[g].sc[h], tiles[g].fold[h]);
        isum[r][g] = h == 0 ? part : _mm512_add_ps(isum[r][g], part);
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    const __m512 da = Pinned(_mm512_set1_ps(a[r * stride].d));
    _mm_prefetch(a + r * stride + kAhead, _MM_HINT_T0);
#pragma GCC unroll 2
    for (int g = 0; g < kGroups; ++g) {
      float* sum = acc[r * kGroups + g];
      const __m512 scale = _mm512_mul_ps(tiles[g].d, da);
      _mm512_store_ps(sum, _mm512_fmadd_ps(isum[r][g], scale, _mm512_load_ps(sum)));
    }
  }
}

template <int kGroups>
__attribute__((noinline)) void MultiplyChunk(const Tile* tiles, const ActivationChunk* a,
                                             int64_t stride, int rows, Lanes* acc) {
  __m512i n[kGroups][8];
#pragma GCC unroll 2
  for (int g = 0; g < kGroups; ++g) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) n[g][i] = Pinned(tiles[g].n[i]);
  }
  int r = 0;
  for (; r + 4 <= rows; r += 4) {
    MultiplyRows<kGroups, 4>(n, tiles, a + r * stride, stride, acc + r * kGroups);
  }
  for (; r < rows; ++r)
    MultiplyRows<kGroups, 1>(n, tiles, a + r * stride, stride, acc + r * kGroups);
}

template <typename Source, int kGroups>
void RunGroups(const MmqArgs& args, const WideGroup* groups, int64_t first, int rows) {
  const int64_t chunks = args.k / kBlock32;
  alignas(64) Lanes acc[kMmqRowBlock * kGroups];
  for (int i = 0; i < rows * kGroups; ++i) _mm512_store_ps(acc[i], _mm512_setzero_ps());
  for (int64_t c = 0; c < chunks; ++c) {
    Tile tiles[kGroups];
    for (int g = 0; g < kGroups; ++g) {
      Source::Decode(groups[g], c / 8 * Source::kSuperBytes, static_cast<int>(c % 8), &tiles[g]);
    }
    MultiplyChunk<kGroups>(tiles, args.a + first * chunks + c, chunks, rows, acc);
  }
  for (int r = 0; r < rows; ++r) {
    float* y = args.y + (first + r) * args.ldy;
    for (int g = 0; g < kGroups; ++g) {
      StoreWide(groups[g], _mm512_load_ps(acc[r * kGroups + g]), args.bias, y + groups[g].out);
    }
  }
}

template <typename Source>
void Run(const MmqArgs& args, const void* w, Range outs) {
  const int64_t row_bytes = args.k / kSuperBlock * Source::kSuperBytes;
  for (int64_t first = 0; first < args.rows; first += kMmqRowBlock) {
    const int64_t left = args.rows - first;
    const int rows = left < kMmqRowBlock ? static_cast<int>(left) : kMmqRowBlock;
    int64_t o = outs.begin;
    for (; o + kWide < outs.end; o += 2 * kWide) {
      const WideGroup groups[2] = {MakeWideGroup(w, row_bytes, o, outs.end),
                                   MakeWideGroup(w, row_bytes, o + kWide, outs.end)};
      RunGroups<Source, 2>(args, groups, first, rows);
    }
    if (o < outs.end) {
      const WideGroup group = MakeWideGroup(w, row_bytes, o, outs.end);
      RunGroups<Source, 1>(args, &group, first, rows);
    }
  }
}

template <KernelFault kFault>
void RunSource(const MmqArgs& args, Range outs) {
  if (args.expanded != nullptr) return Run<Expanded<kFault>>(args, args.expanded, outs);
  Run<Raw<kFault>>(args, args.w, outs);
}

}  // namespace

void MmqQ6KNibbleAvx512(const MmqArgs& args, Range outs, KernelFault fault) {
  switch (fault) {
    case KernelFault::kSwapHalfScales:
      return RunSource<KernelFault::kSwapHalfScales>(args, outs);
    case KernelFault::kCoarseQ6K:
      return RunSource<KernelFault::kCoarseQ6K>(args, outs);
    default:
      return RunSource<KernelFault::kNone>(args, outs);
  }
}

}  // namespace fg
