// Sixteen outputs lie in the lanes; four values of a row are broadcast. The offset 32 and the
// conversion to f32 are folded into where a dot product starts, as in mmq_tiles_q6k_avx512.cc.
#include <immintrin.h>

#include "kernels/cpu/mmq_forms.h"

namespace fg {
namespace {

constexpr int kOuts = 16;
constexpr int kMagic = 0x4B400000;  // the bits of 1.5 * 2^23, where an f32 has units of 1
constexpr float kMagicValue = 12582912.0f;

// The rows of up to sixteen neighbouring outputs. Lanes past the last one repeat it, so that every
// load stays inside the weights; they are never stored.
struct OutGroup {
  const uint8_t* row;  // of lane 0
  __m512i offset;      // of each lane's row from there, in bytes
  __mmask16 valid;
};

inline OutGroup MakeOutGroup(const void* w, int64_t row_bytes, int64_t out, int64_t end) {
  const int count = end - out < kOuts ? static_cast<int>(end - out) : kOuts;
  const __m512i lane =
      _mm512_min_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                       _mm512_set1_epi32(count - 1));
  OutGroup group;
  group.row = static_cast<const uint8_t*>(w) + out * row_bytes;
  group.offset = _mm512_mullo_epi32(lane, _mm512_set1_epi32(static_cast<int>(row_bytes)));
  group.valid = static_cast<__mmask16>((1u << count) - 1);
  return group;
}

// Lane o = the four bytes at `at` in row o.
inline __m512i Gather(const OutGroup& group, int64_t at) {
  return _mm512_i32gather_epi32(group.offset, group.row + at, 1);
}

inline __m512i LoadRow(const uint8_t* row) { return _mm512_load_si512(row); }

template <KernelFault kFault>
inline __m512i Six() {
  return _mm512_set1_epi8(kFault == KernelFault::kCoarseQ6K ? 0x3E : 0x3F);
}

// Scale of sub-block j, and what takes kMagicValue times it away again.
struct alignas(64) Scales {
  float sc[16][kOuts];
  float fold[16][kOuts];

  void Set(int j, __m512i bytes, int byte) {  // the byte'th of every lane
    const __m128i shift = _mm_cvtsi32_si128(24 - 8 * byte);
    const __m512i value = _mm512_srai_epi32(_mm512_sll_epi32(bytes, shift), 24);
    const __m512 scale = _mm512_cvtepi32_ps(value);
    _mm512_store_ps(sc[j], scale);
    _mm512_store_ps(fold[j], _mm512_mul_ps(scale, _mm512_set1_ps(-kMagicValue)));
  }
};

// One super-block, still packed: lane o of q[i] holds bytes 4i..4i+3 of output o's ql, then qh.
template <KernelFault kFault>
struct alignas(64) PackedTile {
  static constexpr int64_t kSuperBytes = sizeof(BlockQ6_K);
  uint8_t q[48][64];
  Scales scales;
  float d[kOuts];

  void Stage(const OutGroup& group, int64_t at) {
    for (int i = 0; i < 48; ++i) _mm512_store_si512(q[i], Gather(group, at + 4 * i));
    constexpr int kSwap = kFault == KernelFault::kSwapHalfScales ? 1 : 0;
    for (int i = 0; i < 4; ++i) {
      const __m512i bytes = Gather(group, at + 192 + 4 * i);
      for (int j = 0; j < 4; ++j) scales.Set((4 * i + j) ^ kSwap, bytes, j);
    }
    // d is the last two bytes of the block: read as the upper half of the last four.
    const __m512i halves = _mm512_srli_epi32(Gather(group, at + 206), 16);
    _mm512_store_ps(d, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(halves)));
  }

  // Values 4i..4i+3 of chunk 4*half + kQuarter, unsigned.
  template <int kQuarter>
  __m512i Values(int half, int i) const {
    const __m512i low = LoadRow(q[8 * (2 * half + kQuarter % 2) + i]);
    const __m512i high = LoadRow(q[32 + 8 * half + i]);
    const __m512i placed = kQuarter == 0   ? _mm512_slli_epi16(high, 4)
                           : kQuarter == 1 ? _mm512_slli_epi16(high, 2)
                           : kQuarter == 2 ? high
                                           : _mm512_srli_epi16(high, 2);
    const __m512i nibble = kQuarter < 2 ? low : _mm512_srli_epi16(low, 4);
    // Where the mask has ones the nibble's bits, else the upper ones; then the six that count.
    const __m512i n = _mm512_ternarylogic_epi32(_mm512_set1_epi8(15), nibble, placed, 0xCA);
    return _mm512_and_si512(n, Six<kFault>());
  }

  __m512 D(int) const { return _mm512_load_ps(d); }
};

// The same from the expanded plane: values transposed and made unsigned again.
template <KernelFault kFault>
struct alignas(64) ExpandedTile {
  static constexpr int64_t kSuperBytes = 8 * sizeof(ExpandedChunkQ6_K);
  uint8_t n[64][64];
  Scales scales;
  float d[8][kOuts];

  void Stage(const OutGroup& group, int64_t at) {
    for (int c = 0; c < 8; ++c, at += static_cast<int64_t>(sizeof(ExpandedChunkQ6_K))) {
      for (int i = 0; i < 8; ++i) {
        const __m512i q = _mm512_add_epi8(Gather(group, at + 4 * i), _mm512_set1_epi8(32));
        _mm512_store_si512(n[8 * c + i], _mm512_and_si512(q, Six<kFault>()));
      }
      _mm512_store_si512(d[c], Gather(group, at + 32));
      const __m512i bytes = Gather(group, at + 36);
      for (int h = 0; h < 2; ++h) scales.Set(2 * c + h, bytes, h);
    }
  }

  template <int kQuarter>
  __m512i Values(int half, int i) const {
    return LoadRow(n[8 * (4 * half + kQuarter) + i]);
  }

  __m512 D(int c) const { return _mm512_load_ps(d[c]); }
};

inline __m512i BroadcastFour(const void* p) {
  int value;
  __builtin_memcpy(&value, p, sizeof(value));
  return _mm512_set1_epi32(value);
}

// sc * dot of sub-block j, exact.
inline __m512 Scaled(const Scales& scales, int j, __m512i dot) {
  return _mm512_fmadd_ps(_mm512_castsi512_ps(dot), _mm512_load_ps(scales.sc[j]),
                         _mm512_load_ps(scales.fold[j]));
}

// kRows rows, `stride` chunks apart, go on over chunk 4*half + kQuarter.
template <int kQuarter, int kRows, typename Tile>
inline void MultiplyChunk(const Tile& tile, int half, const ActivationChunk* a, int64_t stride,
                          __m512* acc) {
  const int c = 4 * half + kQuarter;
  const ActivationChunk* row[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) row[r] = a + r * stride + c;
  __m512i dot[2][kRows];
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h) {
    // kMagic - 32 * sum[h]: the pair of sums times (-32, 0) or (0, -32).
    const __m512i minus = _mm512_set1_epi32(h == 0 ? 0x0000FFE0 : static_cast<int>(0xFFE00000));
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      dot[h][r] = _mm512_dpwssd_epi32(_mm512_set1_epi32(kMagic), minus, BroadcastFour(row[r]->sum));
    }
#pragma GCC unroll 4
    for (int i = 4 * h; i < 4 * h + 4; ++i) {
      const __m512i n = tile.template Values<kQuarter>(half, i);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        dot[h][r] = _mm512_dpbusd_epi32(dot[h][r], n, BroadcastFour(row[r]->q + 4 * i));
      }
    }
  }
  const __m512 d = tile.D(c);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    const __m512 isum = _mm512_add_ps(Scaled(tile.scales, 2 * c, dot[0][r]),
                                      Scaled(tile.scales, 2 * c + 1, dot[1][r]));
    const __m512 scale = _mm512_mul_ps(d, _mm512_set1_ps(row[r]->d));
    acc[r] = _mm512_fmadd_ps(isum, scale, acc[r]);
  }
}

template <int kRows, typename Tile>
__attribute__((noinline)) void MultiplyRows(const Tile& tile, const ActivationChunk* a,
                                            int64_t stride, __m512* acc) {
  for (int half = 0; half < 2; ++half) {
    MultiplyChunk<0, kRows>(tile, half, a, stride, acc);
    MultiplyChunk<1, kRows>(tile, half, a, stride, acc);
    MultiplyChunk<2, kRows>(tile, half, a, stride, acc);
    MultiplyChunk<3, kRows>(tile, half, a, stride, acc);
  }
}

inline void Store(const OutGroup& group, __m512 acc, const float* bias, float* y) {
  if (bias != nullptr) acc = _mm512_add_ps(acc, _mm512_maskz_loadu_ps(group.valid, bias));
  _mm512_mask_storeu_ps(y, group.valid, acc);
}

template <typename Tile>
void Run(const MmqArgs& args, const void* w, Range outs) {
  const int64_t supers = args.k / kSuperBlock;
  const int64_t stride = supers * 8;
  Tile tile;
  __m512 acc[kMmqRowBlock];
  for (int64_t first = 0; first < args.rows; first += kMmqRowBlock) {
    const int64_t left = args.rows - first;
    const int rows = left < kMmqRowBlock ? static_cast<int>(left) : kMmqRowBlock;
    for (int64_t o = outs.begin; o < outs.end; o += kOuts) {
      const OutGroup group = MakeOutGroup(w, supers * Tile::kSuperBytes, o, outs.end);
      for (int r = 0; r < rows; ++r) acc[r] = _mm512_setzero_ps();
      for (int64_t s = 0; s < supers; ++s) {
        tile.Stage(group, s * Tile::kSuperBytes);
        const ActivationChunk* a = args.a + first * stride + 8 * s;
        int r = 0;
        for (; r + 8 <= rows; r += 8) MultiplyRows<8>(tile, a + r * stride, stride, acc + r);
        for (; r + 4 <= rows; r += 4) MultiplyRows<4>(tile, a + r * stride, stride, acc + r);
        for (; r < rows; ++r) MultiplyRows<1>(tile, a + r * stride, stride, acc + r);
      }
      const float* bias = args.bias == nullptr ? nullptr : args.bias + o;
      for (int r = 0; r < rows; ++r) {
        Store(group, acc[r], bias, args.y + (first + r) * args.ldy + o);
      }
    }
  }
}

template <KernelFault kFault>
void RunSource(const MmqArgs& args, Range outs) {
  if (args.expanded != nullptr) return Run<ExpandedTile<kFault>>(args, args.expanded, outs);
  Run<PackedTile<kFault>>(args, args.w, outs);
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
