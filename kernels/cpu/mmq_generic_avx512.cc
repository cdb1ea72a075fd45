#include "kernels/cpu/mmq_avx512.h"
#include "kernels/cpu/mmq_forms.h"

namespace fg {
namespace {

// One chunk of 16 outputs, an output a lane: codes[i] has values 4i to 4i+3, unsigned, each
// 2^kOffsetBits too large (right where kOffsetBits is 0). A row of activations meets it with eight
// products of a broadcast word, and no sum ever crosses lanes.
struct Tile {
  __m512i codes[8];
  __m512 ws, wm;
  __m512 scale0, scale1;  // of values 0-15 and 16-31, integers
};

// Values 0-15 and 16-31 of rows i, i+4, i+8, i+12 to the tile's order.
void StoreCodes(__m512i low[4], __m512i high[4], Tile* tile) {
  TransposeIn128(low);
  TransposeIn128(high);
  for (int i = 0; i < 4; ++i) {
    tile->codes[i] = low[i];
    tile->codes[i + 4] = high[i];
  }
}

// Each type: Begin() what a block's chunks share, Decode() chunk c of the block at `offset`.
template <typename Codes, int kBits>
struct Blocks32 {
  static constexpr bool kHasMin = false, kTwoScales = false;
  static constexpr int kOffsetBits = kBits;
  static constexpr int64_t kBytes = Codes::kBytes;
  static constexpr int kChunks = 1;
  struct Shared {};

  static Shared Begin(const WideGroup&, int64_t) { return {}; }
  static void Decode(const WideGroup& group, int64_t offset, const Shared&, int, Tile* tile) {
    const __m512i extra = Codes::Extra(group, offset);
    __m512i low[4], high[4];
    for (int i = 0; i < 4; ++i) Codes::Codes(group, offset, i, extra, &low[i], &high[i]);
    StoreCodes(low, high, tile);
    tile->ws = LowHalfs(Gather32(group, offset));
  }
};

struct Q4_K {
  static constexpr bool kHasMin = true, kTwoScales = false;
  static constexpr int kOffsetBits = 0;
  static constexpr int64_t kBytes = sizeof(BlockQ4_K);
  static constexpr int kChunks = 8;
  using Shared = ScalesQ4_K;

  static Shared Begin(const WideGroup& group, int64_t offset) {
    return DecodeScalesQ4_K(group, offset);
  }
  static void Decode(const WideGroup& group, int64_t offset, const Shared& s, int c, Tile* tile) {
    const int64_t at = offset + 16 + 32 * (c / 2);
    const __m128i shift = _mm_cvtsi32_si128(4 * (c % 2));
    const auto nibbles = [&](int i, int64_t from) {
      const __m512i packed = _mm512_srl_epi16(Load16x4(group, i, from), shift);
      return _mm512_and_si512(packed, _mm512_set1_epi8(15));
    };
    __m512i low[4], high[4];
    for (int i = 0; i < 4; ++i) {
      low[i] = nibbles(i, at);
      high[i] = nibbles(i, at + 16);
    }
    StoreCodes(low, high, tile);
    tile->ws = _mm512_mul_ps(s.d, ByteToF32(s.scales[c / 4], c % 4));
    tile->wm = _mm512_mul_ps(s.minus_dmin, ByteToF32(s.mins[c / 4], c % 4));
  }
};

struct Q6_K {
  static constexpr bool kHasMin = false, kTwoScales = true;
  static constexpr int kOffsetBits = 5;
  static constexpr int64_t kBytes = sizeof(BlockQ6_K);
  static constexpr int kChunks = 8;
  using Shared = ScalesQ6_K;

  static Shared Begin(const WideGroup& group, int64_t offset) {
    return DecodeScalesQ6_K(group, offset);
  }
  static void Decode(const WideGroup& group, int64_t offset, const Shared& s, int c, Tile* tile) {
    const int half = c / 4, quarter = c % 4;
    const int64_t low_at = offset + 64 * half + 32 * (quarter % 2);
    const int64_t high_at = offset + 128 + 32 * half;
    const __m128i low_shift = _mm_cvtsi32_si128(quarter < 2 ? 0 : 4);
    const __m128i high_shift = _mm_cvtsi32_si128(2 * quarter);
    const auto codes = [&](int i, int64_t from) {
      const __m512i ql = Load16x4(group, i, low_at + from), qh = Load16x4(group, i, high_at + from);
      const __m512i low = _mm512_and_si512(_mm512_srl_epi16(ql, low_shift), _mm512_set1_epi8(15));
      const __m512i high = _mm512_and_si512(_mm512_srl_epi16(qh, high_shift), _mm512_set1_epi8(3));
      return _mm512_or_si512(low, _mm512_slli_epi16(high, 4));
    };
    __m512i low[4], high[4];
    for (int i = 0; i < 4; ++i) {
      low[i] = codes(i, 0);
      high[i] = codes(i, 16);
    }
    StoreCodes(low, high, tile);
    tile->ws = s.d;
    tile->scale0 = SignedByteToF32(s.four[c / 2], 2 * (c % 2));
    tile->scale1 = SignedByteToF32(s.four[c / 2], 2 * (c % 2) + 1);
  }
};

// -(sum of the row's values 0-15, and of 16-31) << kOffsetBits, by the words of `which`.
template <typename Type>
__m512i Start(const ActivationChunk& a, int which) {
  if constexpr (Type::kOffsetBits == 0) return _mm512_setzero_si512();
  return _mm512_madd_epi16(RepeatSums(a), _mm512_set1_epi32(which));
}

constexpr int kAhead = 8;  // chunks of a row that are asked for before their turn

// kRows rows, `stride` chunks apart, times kGroups groups of 16 outputs: each word of activations
// is loaded once for all groups, and the chains of products overlap. acc[r * kGroups + g].
template <typename Type, int kGroups, int kRows>
void MultiplyRows(const Tile* tile, const ActivationChunk* a, int64_t stride, __m512* acc) {
  constexpr int kMinus = -(1 << Type::kOffsetBits);
  constexpr int kFirst = kMinus & 0xFFFF, kSecond = kMinus * 0x10000;
  __m512i first[kRows][kGroups], second[kRows][kGroups];
  for (int r = 0; r < kRows; ++r) {
    const ActivationChunk& row = a[r * stride];
    // Too many rows for the processor to see each one's own step.
    _mm_prefetch(&row + kAhead, _MM_HINT_T0);
    const __m512i start0 = Start<Type>(row, Type::kTwoScales ? kFirst : kFirst | kSecond);
    for (int g = 0; g < kGroups; ++g) first[r][g] = start0;
    if constexpr (Type::kTwoScales) {
      const __m512i start1 = Start<Type>(row, kSecond);
      for (int g = 0; g < kGroups; ++g) second[r][g] = start1;
    }
  }
  for (int i = 0; i < 8; ++i) {
    for (int r = 0; r < kRows; ++r) {
      int word;
      __builtin_memcpy(&word, a[r * stride].q + 4 * i, sizeof(word));
      const __m512i words = _mm512_set1_epi32(word);
      for (int g = 0; g < kGroups; ++g) {
        __m512i& sum = Type::kTwoScales && i >= 4 ? second[r][g] : first[r][g];
        sum = _mm512_dpbusd_epi32(sum, tile[g].codes[i], words);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    const __m512 da = _mm512_set1_ps(a[r * stride].d);
    for (int g = 0; g < kGroups; ++g) {
      __m512& sum = acc[r * kGroups + g];
      __m512 isum = _mm512_cvtepi32_ps(first[r][g]);
      if constexpr (Type::kTwoScales) {
        // Sums and products stay below 2^24, so f32 holds isum exactly.
        const __m512 upper = _mm512_mul_ps(_mm512_cvtepi32_ps(second[r][g]), tile[g].scale1);
        isum = _mm512_fmadd_ps(isum, tile[g].scale0, upper);
      }
      sum = AddScaled(sum, isum, tile[g].ws, da);
      if constexpr (Type::kHasMin) sum = AddMin(sum, tile[g].wm, a[r * stride]);
    }
  }
}

template <typename Type, int kGroups>
void RunGroups(const MmqArgs& args, const WideGroup* groups, int64_t first, int rows) {
  constexpr int kSideBySide = Type::kTwoScales ? 2 : 4;
  const int64_t chunks = args.k / kBlock32;
  __m512 acc[kMmqRowBlock * kGroups];
  for (int i = 0; i < rows * kGroups; ++i) acc[i] = _mm512_setzero_ps();
  for (int64_t block = 0; block < chunks / Type::kChunks; ++block) {
    const int64_t offset = block * Type::kBytes;
    typename Type::Shared shared[kGroups];
    for (int g = 0; g < kGroups; ++g) shared[g] = Type::Begin(groups[g], offset);
    for (int c = 0; c < Type::kChunks; ++c) {
      Tile tile[kGroups];
      for (int g = 0; g < kGroups; ++g) Type::Decode(groups[g], offset, shared[g], c, &tile[g]);
      const ActivationChunk* a = args.a + first * chunks + block * Type::kChunks + c;
      int r = 0;
      for (; r + kSideBySide <= rows; r += kSideBySide) {
        MultiplyRows<Type, kGroups, kSideBySide>(tile, a + r * chunks, chunks, acc + r * kGroups);
      }
      for (; r < rows; ++r) {
        MultiplyRows<Type, kGroups, 1>(tile, a + r * chunks, chunks, acc + r * kGroups);
      }
    }
  }
  for (int r = 0; r < rows; ++r) {
    float* y = args.y + (first + r) * args.ldy;
    for (int g = 0; g < kGroups; ++g) {
      StoreWide(groups[g], acc[r * kGroups + g], args.bias, y + groups[g].out);
    }
  }
}

template <typename Type>
void Run(const MmqArgs& args, Range outs) {
  const int64_t row_bytes = args.k / (kBlock32 * Type::kChunks) * Type::kBytes;
  for (int64_t first = 0; first < args.rows; first += kMmqRowBlock) {
    const int64_t left = args.rows - first;
    const int rows = left < kMmqRowBlock ? static_cast<int>(left) : kMmqRowBlock;
    int64_t o = outs.begin;
    for (; o + kWide < outs.end; o += 2 * kWide) {
      const WideGroup groups[2] = {MakeWideGroup(args.w, row_bytes, o, outs.end),
                                   MakeWideGroup(args.w, row_bytes, o + kWide, outs.end)};
      RunGroups<Type, 2>(args, groups, first, rows);
    }
    if (o < outs.end) {
      const WideGroup group = MakeWideGroup(args.w, row_bytes, o, outs.end);
      RunGroups<Type, 1>(args, &group, first, rows);
    }
  }
}

}  // namespace

void MmqGenericAvx512(const MmqArgs& args, Range outs) {
  switch (args.type) {
    case TensorType::kQ4_0:
      return Run<Blocks32<CodesQ4_0, 3>>(args, outs);
    case TensorType::kQ5_0:
      return Run<Blocks32<CodesQ5_0, 4>>(args, outs);
    case TensorType::kQ8_0:
      return Run<Blocks32<CodesQ8_0, 7>>(args, outs);
    case TensorType::kQ4_K:
      return Run<Q4_K>(args, outs);
    case TensorType::kQ6_K:
      return Run<Q6_K>(args, outs);
    default:
      return;  // MmqSupports says no
  }
}

}  // namespace fg
