#include "kernels/cpu/matvec_levels.h"
#include "kernels/cpu/mmq_avx512.h"

namespace fg {
namespace {

// Sixteen outputs at a time. Products with the activations come first, row by row, in partial sums
// of four values; a transposing reduction then brings each output's sum to its own lane, where its
// chain runs. The offset of the codes is in the accumulator from the start.

// Words that vpmaddwd turns a chunk's two sums into -offset * sum with: all of it in lane 0 of each
// 128 bits, whose four lanes are added up later.
__m512i OffsetOfChunk(int offset) {
  const int both = (-offset & 0xFFFF) | (-offset * 0x10000);
  return _mm512_broadcast_i32x4(_mm_setr_epi32(both, 0, 0, 0));
}

// Blocks of 32 that begin with d.
template <typename Type>
struct Blocks32 {
  static __m512 Dot(const WideGroup& group, int64_t row_bytes, const ActivationChunk* a,
                    int64_t k) {
    const __m512i offset_words = OffsetOfChunk(Type::kOffset);
    Ahead ahead(group.row[0], kWide * row_bytes);
    __m512 acc = _mm512_setzero_ps();
    for (int64_t c = 0; c < k / kBlock32; ++c) {
      const int64_t offset = c * Type::kBytes;
      ahead.Step<kWide * Type::kBytes>();
      const __m512 d = LowHalfs(Gather32(group, offset));
      const __m512i extra = Type::Extra(group, offset);
      const __m512i first = Repeat16(a[c].q), second = Repeat16(a[c].q + 16);
      const __m512i start = _mm512_madd_epi16(RepeatSums(a[c]), offset_words);
      __m512i parts[4];
      for (int i = 0; i < 4; ++i) {
        __m512i low, high;
        Type::Codes(group, offset, i, extra, &low, &high);
        parts[i] = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(start, low, first), high, second);
      }
      const __m512i isum = SumsOf4(parts[0], parts[1], parts[2], parts[3]);
      acc = AddScaled(acc, _mm512_cvtepi32_ps(isum), d, _mm512_set1_ps(a[c].d));
    }
    return acc;
  }
};

struct Q4_K {
  static constexpr int64_t kBytes = sizeof(BlockQ4_K);

  // Adds up the eight lanes of each half of rows 0-15, four rows a vector of z: lane o of *first is
  // the sum of row o's lower half, of *second that of its upper half.
  static void SumsOf8(const __m512i z[4], __m512i* first, __m512i* second) {
    const auto halves = [](__m512i a, __m512i b) {
      return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xDD));
    };
    const __m512i low = halves(z[0], z[1]), high = halves(z[2], z[3]);
    *first = _mm512_shuffle_i32x4(low, high, 0x88);
    *second = _mm512_shuffle_i32x4(low, high, 0xDD);
  }

  // isum of the four sub-blocks whose codes begin at `offset`; a: their chunks.
  static void ChunkSums(const WideGroup& group, int64_t offset, const ActivationChunk* a,
                        __m512i isum[4], Ahead* ahead) {
    const __m512i even = Load32x2(a[0].q, a[2].q), odd = Load32x2(a[1].q, a[3].q);
    const __m512i low_bits = _mm512_set1_epi8(15);
    const __m512i high_bits = _mm512_set1_epi8(static_cast<char>(0xF0));
    const __m512i zero = _mm512_setzero_si512();
    __m512i low[4], high[4];
#pragma GCC unroll 4
    for (int g = 0; g < 4; ++g) {
      ahead->Step<kWide * kBytes / 8>();
      __m512i l[4], h[4];
      for (int i = 0; i < 4; ++i) {
        const __m512i packed = Load64(group.row[4 * g + i] + offset);
        l[i] = _mm512_dpbusd_epi32(zero, _mm512_and_si512(packed, low_bits), even);
        // 16 times the upper code: the shift comes after the sum.
        h[i] = _mm512_dpbusd_epi32(zero, _mm512_and_si512(packed, high_bits), odd);
      }
      low[g] = SumsOf4(l[0], l[1], l[2], l[3]);
      high[g] = SumsOf4(h[0], h[1], h[2], h[3]);
    }
    SumsOf8(low, &isum[0], &isum[2]);
    SumsOf8(high, &isum[1], &isum[3]);
    isum[1] = _mm512_srai_epi32(isum[1], 4);
    isum[3] = _mm512_srai_epi32(isum[3], 4);
  }

  template <int j>
  static __m512 Add(__m512 acc, __m512i isum, const ScalesQ4_K& s, int half,
                    const ActivationChunk& a) {
    const __m512 ws = _mm512_mul_ps(s.d, ByteToF32(s.scales[half], j));
    const __m512 wm = _mm512_mul_ps(s.minus_dmin, ByteToF32(s.mins[half], j));
    acc = AddScaled(acc, _mm512_cvtepi32_ps(isum), ws, _mm512_set1_ps(a.d));
    return AddMin(acc, wm, a);
  }

  static __m512 Dot(const WideGroup& group, int64_t row_bytes, const ActivationChunk* a,
                    int64_t k) {
    Ahead ahead(group.row[0], kWide * row_bytes);
    __m512 acc = _mm512_setzero_ps();
    for (int64_t s = 0; s < k / kSuperBlock; ++s, a += 8) {
      const int64_t offset = s * kBytes;
      const ScalesQ4_K scales = DecodeScalesQ4_K(group, offset);
      for (int half = 0; half < 2; ++half) {
        __m512i isum[4];
        const ActivationChunk* chunk = a + 4 * half;
        ChunkSums(group, offset + 16 + 64 * half, chunk, isum, &ahead);
        acc = Add<0>(acc, isum[0], scales, half, chunk[0]);
        acc = Add<1>(acc, isum[1], scales, half, chunk[1]);
        acc = Add<2>(acc, isum[2], scales, half, chunk[2]);
        acc = Add<3>(acc, isum[3], scales, half, chunk[3]);
      }
    }
    return acc;
  }
};

struct Q6_K {
  static constexpr int64_t kBytes = sizeof(BlockQ6_K);

  // -32 * the chunks' sums in lanes 0 (values 0-15) and 4 (16-31) of either half.
  static __m512i Start(const ActivationChunk& low, const ActivationChunk& high) {
    const __m512i words =
        _mm512_broadcast_i64x4(_mm256_setr_epi32(-32 & 0xFFFF, 0, 0, 0, -32 * 0x10000, 0, 0, 0));
    return _mm512_madd_epi16(_mm512_mask_mov_epi32(RepeatSums(low), 0xFF00, RepeatSums(high)),
                             words);
  }

  // Lane o of sums[2c + p] = row o's sum over part p of chunk c = 0..3 of the half of the
  // super-block whose codes begin at `low_at` and `high_at`; a: the chunks.
  static void HalfSums(const WideGroup& group, int64_t low_at, int64_t high_at,
                       const ActivationChunk* a, __m512i sums[8], Ahead* ahead) {
    // Low nibbles are chunks 0 and 1, high ones 2 and 3.
    const __m512i first = Load32x2(a[0].q, a[1].q), second = Load32x2(a[2].q, a[3].q);
    const __m512i start0 = Start(a[0], a[1]), start1 = Start(a[2], a[3]);
    const __m512i four = _mm512_set1_epi8(15), six = _mm512_set1_epi8(63);
    const __m512i up = _mm512_inserti64x4(_mm512_set1_epi32(4), _mm256_set1_epi32(2), 1);
    const __m512i down = _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi32(2), 1);
    __m512i low[4], high[4];
#pragma GCC unroll 4
    for (int g = 0; g < 4; ++g) {
      ahead->Step<kWide * kBytes / 8>();
      __m512i l[4], h[4];
      for (int i = 0; i < 4; ++i) {
        const uint8_t* row = group.row[4 * g + i];
        const __m512i ql = Load64(row + low_at), qh = Repeat32(row + high_at);
        // Bits 0-3 of the first, the others of the second operand (0xD8: c ? b : a).
        const __m512i n0 = _mm512_and_si512(
            _mm512_ternarylogic_epi32(_mm512_sllv_epi32(qh, up), ql, four, 0xD8), six);
        const __m512i n1 =
            _mm512_and_si512(_mm512_ternarylogic_epi32(_mm512_srlv_epi32(qh, down),
                                                       _mm512_srli_epi32(ql, 4), four, 0xD8),
                             six);
        l[i] = _mm512_dpbusd_epi32(start0, n0, first);
        h[i] = _mm512_dpbusd_epi32(start1, n1, second);
      }
      low[g] = SumsOf4(l[0], l[1], l[2], l[3]);
      high[g] = SumsOf4(h[0], h[1], h[2], h[3]);
    }
    TransposeLanes(low, sums);
    TransposeLanes(high, sums + 4);
  }

  // Chunk c of four: scales in bytes 2 (c % 2) and the next of `scales`. The sums and their
  // products stay below 2^24, so f32 holds isum exactly.
  template <int j>
  static __m512 Add(__m512 acc, const __m512i sums[2], __m512i scales, __m512 d,
                    const ActivationChunk& a) {
    const __m512 second =
        _mm512_mul_ps(_mm512_cvtepi32_ps(sums[1]), SignedByteToF32(scales, j + 1));
    const __m512 isum =
        _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[0]), SignedByteToF32(scales, j), second);
    return AddScaled(acc, isum, d, _mm512_set1_ps(a.d));
  }

  static __m512 Dot(const WideGroup& group, int64_t row_bytes, const ActivationChunk* a,
                    int64_t k) {
    Ahead ahead(group.row[0], kWide * row_bytes);
    __m512 acc = _mm512_setzero_ps();
    for (int64_t s = 0; s < k / kSuperBlock; ++s, a += 8) {
      const int64_t offset = s * kBytes;
      const ScalesQ6_K scales = DecodeScalesQ6_K(group, offset);
      for (int half = 0; half < 2; ++half) {
        __m512i sums[8];
        const ActivationChunk* chunk = a + 4 * half;
        HalfSums(group, offset + 64 * half, offset + 128 + 32 * half, chunk, sums, &ahead);
        acc = Add<0>(acc, sums, scales.four[2 * half], scales.d, chunk[0]);
        acc = Add<2>(acc, sums + 2, scales.four[2 * half], scales.d, chunk[1]);
        acc = Add<0>(acc, sums + 4, scales.four[2 * half + 1], scales.d, chunk[2]);
        acc = Add<2>(acc, sums + 6, scales.four[2 * half + 1], scales.d, chunk[3]);
      }
    }
    return acc;
  }
};

template <typename Type>
void Run(const void* w, int64_t row_bytes, const ActivationChunk* a, int64_t k, const float* bias,
         Range outs, float* y) {
  for (int64_t o = outs.begin; o < outs.end; o += kWide) {
    const WideGroup group = MakeWideGroup(w, row_bytes, o, outs.end);
    StoreWide(group, Type::Dot(group, row_bytes, a, k), bias, y + o);
  }
}

}  // namespace

void MatvecQuantizedAvx512(TensorType type, const void* w, const ActivationChunk* a, int64_t k,
                           const float* bias, Range outs, float* y) {
  const int64_t row_bytes = RowBytes(type, k);
  switch (type) {
    case TensorType::kQ4_0:
      return Run<Blocks32<CodesQ4_0>>(w, row_bytes, a, k, bias, outs, y);
    case TensorType::kQ5_0:
      return Run<Blocks32<CodesQ5_0>>(w, row_bytes, a, k, bias, outs, y);
    case TensorType::kQ8_0:
      return Run<Blocks32<CodesQ8_0>>(w, row_bytes, a, k, bias, outs, y);
    case TensorType::kQ4_K:
      return Run<Q4_K>(w, row_bytes, a, k, bias, outs, y);
    case TensorType::kQ6_K:
      return Run<Q6_K>(w, row_bytes, a, k, bias, outs, y);
    default:
      return;  // not a quantized type of this build
  }
}

}  // namespace fg
