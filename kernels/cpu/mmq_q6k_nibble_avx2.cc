#include "kernels/cpu/mmq_avx2.h"
#include "kernels/cpu/mmq_forms.h"

namespace fg {
namespace {

__m256i LoadRow(const uint8_t* row) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(row));
}

void StoreTransposed(__m256i v[8], uint8_t (*rows)[32]) {
  Transpose8x8(v);
  for (int i = 0; i < 8; ++i) _mm256_store_si256(reinterpret_cast<__m256i*>(rows[i]), v[i]);
}

template <KernelFault kFault>
__m256i Six() {
  return _mm256_set1_epi8(kFault == KernelFault::kCoarseQ6K ? 0x3C : 0x3F);
}

// Byte j of every lane, sign-extended.
__m256i SignedByte(__m256i v, int j) {
  return _mm256_srai_epi32(_mm256_sll_epi32(v, _mm_cvtsi32_si128(24 - 8 * j)), 24);
}

// One super-block of eight outputs, still packed: ql[8p + i] lane o holds bytes 32p + 4i.. of
// output o's ql, qh likewise.
template <KernelFault kFault>
struct alignas(32) PackedTile {
  static constexpr int64_t kSuperBytes = sizeof(BlockQ6_K);
  uint8_t ql[32][32];
  uint8_t qh[16][32];
  int32_t sc[16][kLanes];
  float d[kLanes];

  void Stage(const OutGroup& group, int64_t offset) {
    for (int p = 0; p < 6; ++p) {
      __m256i v[8];
      for (int o = 0; o < kLanes; ++o) v[o] = LoadBytes(group.row[o] + offset + 32 * p);
      StoreTransposed(v, p < 4 ? ql + 8 * p : qh + 8 * (p - 4));
    }
    constexpr int kSwap = kFault == KernelFault::kSwapHalfScales ? 1 : 0;
    for (int g = 0; g < 4; ++g) {
      const __m256i bytes = GatherU32(group, offset + 192 + 4 * g);
      for (int j = 0; j < 4; ++j) {
        __m256i* at = reinterpret_cast<__m256i*>(sc[(4 * g + j) ^ kSwap]);
        _mm256_store_si256(at, SignedByte(bytes, j));
      }
    }
    _mm256_store_ps(d, GatherHalf(group, offset + 208));
  }

  // Values 4i..4i+3 of chunk 4*half + kQuarter, unsigned.
  template <int kQuarter>
  __m256i Values(int half, int i) const {
    const __m256i low = LoadRow(ql[8 * (2 * half + kQuarter % 2) + i]);
    const __m256i high = LoadRow(qh[8 * half + i]);
    const __m256i four = _mm256_set1_epi8(15);
    const __m256i top = _mm256_set1_epi8(0x30);
    const __m256i placed = kQuarter == 0   ? _mm256_slli_epi16(high, 4)
                           : kQuarter == 1 ? _mm256_slli_epi16(high, 2)
                           : kQuarter == 2 ? high
                                           : _mm256_srli_epi16(high, 2);
    const __m256i nibble = kQuarter < 2 ? low : _mm256_srli_epi16(low, 4);
    const __m256i n =
        _mm256_or_si256(_mm256_and_si256(nibble, four), _mm256_and_si256(placed, top));
    return kFault == KernelFault::kCoarseQ6K ? _mm256_and_si256(n, Six<kFault>()) : n;
  }

  __m256 D(int) const { return _mm256_load_ps(d); }
};

// The same from the expanded plane: values transposed and made unsigned again.
template <KernelFault kFault>
struct alignas(32) ExpandedTile {
  static constexpr int64_t kSuperBytes = 8 * sizeof(ExpandedChunkQ6_K);
  uint8_t n[64][32];
  int32_t sc[16][kLanes];
  float d[8][kLanes];

  void Stage(const OutGroup& group, int64_t offset) {
    for (int c = 0; c < 8; ++c, offset += static_cast<int64_t>(sizeof(ExpandedChunkQ6_K))) {
      __m256i v[8];
      for (int o = 0; o < kLanes; ++o) {
        const __m256i q = LoadBytes(group.row[o] + offset);
        v[o] = _mm256_and_si256(_mm256_add_epi8(q, _mm256_set1_epi8(32)), Six<kFault>());
      }
      StoreTransposed(v, n + 8 * c);
      const __m256i bits = GatherU32(group, offset + 32);
      _mm256_store_si256(reinterpret_cast<__m256i*>(d[c]), bits);
      const __m256i scales = GatherU32(group, offset + 36);
      for (int h = 0; h < 2; ++h) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(sc[2 * c + h]), SignedByte(scales, h));
      }
    }
  }

  template <int kQuarter>
  __m256i Values(int half, int i) const {
    return LoadRow(n[8 * (4 * half + kQuarter) + i]);
  }

  __m256 D(int c) const { return _mm256_load_ps(d[c]); }
};

__m256i BroadcastFour(const int8_t* q) { return _mm256_set1_epi32(static_cast<int>(LoadU32(q))); }

// kRows rows, `stride` chunks apart, go on over chunk 4*half + kQuarter. Two maddubs together stay
// below 4 * 63 * 127 = 32004: an i16 holds them, four would not fit.
template <int kQuarter, int kRows, typename Tile>
void MultiplyChunk(const Tile& tile, int half, const ActivationChunk* a, int64_t stride,
                   __m256* acc) {
  const int c = 4 * half + kQuarter;
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i isum[kRows];
  for (int r = 0; r < kRows; ++r) isum[r] = _mm256_setzero_si256();
  for (int h = 0; h < 2; ++h) {
    const __m256i sc = _mm256_load_si256(reinterpret_cast<const __m256i*>(tile.sc[2 * c + h]));
    __m256i dot[kRows];
    for (int r = 0; r < kRows; ++r) dot[r] = _mm256_set1_epi32(-32 * a[r * stride + c].sum[h]);
    for (int i = 4 * h; i < 4 * h + 4; i += 2) {
      const __m256i n0 = tile.template Values<kQuarter>(half, i);
      const __m256i n1 = tile.template Values<kQuarter>(half, i + 1);
      for (int r = 0; r < kRows; ++r) {
        const int8_t* q = a[r * stride + c].q + 4 * i;
        const __m256i pairs = _mm256_add_epi16(_mm256_maddubs_epi16(n0, BroadcastFour(q)),
                                               _mm256_maddubs_epi16(n1, BroadcastFour(q + 4)));
        dot[r] = _mm256_add_epi32(dot[r], _mm256_madd_epi16(pairs, ones));
      }
    }
    for (int r = 0; r < kRows; ++r) {
      isum[r] = _mm256_add_epi32(isum[r], _mm256_mullo_epi32(dot[r], sc));
    }
  }
  for (int r = 0; r < kRows; ++r) {
    acc[r] = AddScaled(acc[r], isum[r], tile.D(c), _mm256_broadcast_ss(&a[r * stride + c].d));
  }
}

template <int kRows, typename Tile>
void MultiplyRows(const Tile& tile, const ActivationChunk* a, int64_t stride, __m256* acc) {
  __m256 sum[kRows];
  for (int r = 0; r < kRows; ++r) sum[r] = acc[r];
  for (int half = 0; half < 2; ++half) {
    MultiplyChunk<0, kRows>(tile, half, a, stride, sum);
    MultiplyChunk<1, kRows>(tile, half, a, stride, sum);
    MultiplyChunk<2, kRows>(tile, half, a, stride, sum);
    MultiplyChunk<3, kRows>(tile, half, a, stride, sum);
  }
  for (int r = 0; r < kRows; ++r) acc[r] = sum[r];
}

template <typename Tile>
void Run(const MmqArgs& args, const void* w, Range outs) {
  const int64_t supers = args.k / kSuperBlock;
  const int64_t stride = supers * 8;
  Tile tile;
  __m256 acc[kMmqRowBlock];
  for (int64_t first = 0; first < args.rows; first += kMmqRowBlock) {
    const int64_t left = args.rows - first;
    const int rows = left < kMmqRowBlock ? static_cast<int>(left) : kMmqRowBlock;
    for (int64_t o = outs.begin; o < outs.end; o += kLanes) {
      const OutGroup group = MakeOutGroup(w, supers * Tile::kSuperBytes, o, outs.end);
      for (int r = 0; r < rows; ++r) acc[r] = _mm256_setzero_ps();
      for (int64_t s = 0; s < supers; ++s) {
        tile.Stage(group, s * Tile::kSuperBytes);
        const ActivationChunk* a = args.a + first * stride + 8 * s;
        int r = 0;
        for (; r + 4 <= rows; r += 4) MultiplyRows<4>(tile, a + r * stride, stride, acc + r);
        for (; r < rows; ++r) MultiplyRows<1>(tile, a + r * stride, stride, acc + r);
      }
      for (int r = 0; r < rows; ++r) {
        StoreGroup(group, acc[r], args.bias, args.y + (first + r) * args.ldy + o);
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

void MmqQ6KNibbleAvx2(const MmqArgs& args, Range outs, KernelFault fault) {
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
