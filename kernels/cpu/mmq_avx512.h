// What the AVX-512 kernels of raw quantized rows share, the GEMM's and the one-row products'. For
// *_avx512.cc files alone: everything here has internal linkage, so that no copy can be linked into
// code for any processor.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/formats/blocks.h"

namespace fg {
namespace {

constexpr int kWide = 16;  // outputs that share a vector, one 32-bit lane each

// The rows of up to 16 neighbouring outputs. Lanes past the last one repeat it, so that every load
// stays inside the weights; they are never stored.
struct WideGroup {
  const uint8_t* row[kWide];
  __m512i offsets;  // of the rows from row[0], in bytes; 15 rows span less than 2^31
  int64_t out;      // of lane 0
  __mmask16 valid;  // lanes that are stored
};

inline WideGroup MakeWideGroup(const void* w, int64_t row_bytes, int64_t out, int64_t end) {
  WideGroup group;
  const int64_t last = end - out < kWide ? end - out - 1 : kWide - 1;
  const uint8_t* first = static_cast<const uint8_t*>(w) + out * row_bytes;
  for (int lane = 0; lane < kWide; ++lane) {
    group.row[lane] = first + (lane < last ? lane : last) * row_bytes;
  }
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  group.offsets =
      _mm512_mullo_epi32(_mm512_min_epi32(lanes, _mm512_set1_epi32(static_cast<int>(last))),
                         _mm512_set1_epi32(static_cast<int>(row_bytes)));
  group.out = out;
  group.valid = static_cast<__mmask16>((2u << last) - 1);
  return group;
}

// y[valid lanes] = acc (+ bias[out..]). y points at the group's first output.
inline void StoreWide(const WideGroup& group, __m512 acc, const float* bias, float* y) {
  if (bias != nullptr) {
    acc = _mm512_add_ps(acc, _mm512_maskz_loadu_ps(group.valid, bias + group.out));
  }
  _mm512_mask_storeu_ps(y, group.valid, acc);
}

// Asks for the weights that come a group later, a share at each step, in the order of memory: two
// rising streams, one in each half of the group, which the processor's own prefetcher follows.
// Without it 16 rows at once are read at half the speed of a plain read, with it at 97 %.
class Ahead {
 public:
  Ahead(const void* group, int64_t group_bytes)
      : at_(static_cast<const char*>(group) + (group_bytes > kLeast ? group_bytes : kLeast)),
        half_((group_bytes / 2 + 63) / 64 * 64) {}
  template <int64_t kBytes>
  void Step() {
    // To the second-level cache: a group of long rows is larger than the first.
    for (int64_t i = 0; i < kBytes / 2; i += 64) {
      _mm_prefetch(at_ + i, _MM_HINT_T1);
      _mm_prefetch(at_ + half_ + i, _MM_HINT_T1);
    }
    at_ += kBytes / 2;
  }

 private:
  static constexpr int64_t kLeast = 8192;
  const char* at_;
  int64_t half_;
};

inline __m512i Load64(const void* p) { return _mm512_loadu_si512(p); }

// 16 bytes at p in each 128-bit lane, 32 bytes in each half.
inline __m512i Repeat16(const void* p) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}
inline __m512i Repeat32(const void* p) {
  return _mm512_broadcast_i64x4(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
}

// 32 bytes at each pointer.
inline __m512i Load32x2(const void* low, const void* high) {
  const __m256i* lower = static_cast<const __m256i*>(low);
  const __m256i* upper = static_cast<const __m256i*>(high);
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(lower)),
                            _mm256_loadu_si256(upper), 1);
}

// 16 bytes at `offset` of rows i, i+4, i+8, i+12, one row a 128-bit lane.
inline __m512i Load16x4(const WideGroup& group, int i, int64_t offset) {
  const auto at = [&](int row) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(group.row[row] + offset));
  };
  __m512i v = _mm512_castsi128_si512(at(i));
  v = _mm512_inserti32x4(v, at(i + 4), 1);
  v = _mm512_inserti32x4(v, at(i + 8), 2);
  return _mm512_inserti32x4(v, at(i + 12), 3);
}

// Lane o = the u32 at `offset` of row o.
inline __m512i Gather32(const WideGroup& group, int64_t offset) {
  return _mm512_i32gather_epi32(group.offsets, group.row[0] + offset, 1);
}

// The f16 in the lower half of each lane.
inline __m512 LowHalfs(__m512i v) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(v)); }
inline __m512 HighHalfs(__m512i v) { return LowHalfs(_mm512_srli_epi32(v, 16)); }

// Each 128-bit lane: v0's four 32-bit lanes summed, then v1's, v2's, v3's.
inline __m512i SumsOf4(__m512i v0, __m512i v1, __m512i v2, __m512i v3) {
  const __m512i low =
      _mm512_add_epi32(_mm512_unpacklo_epi32(v0, v1), _mm512_unpackhi_epi32(v0, v1));
  const __m512i high =
      _mm512_add_epi32(_mm512_unpacklo_epi32(v2, v3), _mm512_unpackhi_epi32(v2, v3));
  return _mm512_add_epi32(_mm512_unpacklo_epi64(low, high), _mm512_unpackhi_epi64(low, high));
}

// Each 128-bit lane is a 4x4 matrix of 32-bit values, row i in v[i]: transposed.
inline void TransposeIn128(__m512i v[4]) {
  const __m512i a = _mm512_unpacklo_epi32(v[0], v[1]), b = _mm512_unpackhi_epi32(v[0], v[1]);
  const __m512i c = _mm512_unpacklo_epi32(v[2], v[3]), d = _mm512_unpackhi_epi32(v[2], v[3]);
  v[0] = _mm512_unpacklo_epi64(a, c);
  v[1] = _mm512_unpackhi_epi64(a, c);
  v[2] = _mm512_unpacklo_epi64(b, d);
  v[3] = _mm512_unpackhi_epi64(b, d);
}

// 128-bit lane j of z[i] becomes lane i of out[j].
inline void TransposeLanes(const __m512i z[4], __m512i out[4]) {
  const __m512i a = _mm512_shuffle_i32x4(z[0], z[1], 0x88);
  const __m512i b = _mm512_shuffle_i32x4(z[0], z[1], 0xDD);
  const __m512i c = _mm512_shuffle_i32x4(z[2], z[3], 0x88);
  const __m512i d = _mm512_shuffle_i32x4(z[2], z[3], 0xDD);
  out[0] = _mm512_shuffle_i32x4(a, c, 0x88);
  out[1] = _mm512_shuffle_i32x4(b, d, 0x88);
  out[2] = _mm512_shuffle_i32x4(a, c, 0xDD);
  out[3] = _mm512_shuffle_i32x4(b, d, 0xDD);
}

// Both i16 sums of a chunk in every 32-bit lane.
inline __m512i RepeatSums(const ActivationChunk& a) {
  int sums;
  __builtin_memcpy(&sums, a.sum, sizeof(sums));
  return _mm512_set1_epi32(sums);
}

// Types of 32-value blocks that begin with d. Codes() gives the unsigned codes of rows i, i+4, i+8
// and i+12, values 0-15 and 16-31, one row a 128-bit lane; each is kOffset too large. Extra() is
// what Codes() needs of all 16 rows.
struct CodesQ4_0 {
  static constexpr int64_t kBytes = sizeof(BlockQ4_0);
  static constexpr int kOffset = 8;

  static void Codes(const WideGroup& group, int64_t offset, int i, __m512i, __m512i* low,
                    __m512i* high) {
    const __m512i packed = Load16x4(group, i, offset + 2);
    const __m512i four = _mm512_set1_epi8(15);
    *low = _mm512_and_si512(packed, four);
    *high = _mm512_and_si512(_mm512_srli_epi16(packed, 4), four);
  }
  static __m512i Extra(const WideGroup&, int64_t) { return _mm512_setzero_si512(); }
};

struct CodesQ5_0 {
  static constexpr int64_t kBytes = sizeof(BlockQ5_0);
  static constexpr int kOffset = 16;

  // h of 16 rows.
  static __m512i Extra(const WideGroup& group, int64_t offset) {
    return Gather32(group, offset + 2);
  }
  static void Codes(const WideGroup& group, int64_t offset, int i, __m512i h, __m512i* low,
                    __m512i* high) {
    CodesQ4_0::Codes(group, offset + 4, i, h, low, high);
    // Lane 4L + i of h is row i + 4L: its bytes 0 and 1 go to the bytes of values 0-15, 2 and 3 to
    // those of 16-31.
    const __m512i bits = _mm512_set1_epi64(static_cast<long long>(0x8040201008040201));
    const __m512i first = _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0, 0x01010101, 0x01010101));
    const __m512i at = _mm512_add_epi8(first, _mm512_set1_epi8(static_cast<char>(4 * i)));
    const __m512i above = _mm512_add_epi8(at, _mm512_set1_epi8(2));
    const __m512i sixteen = _mm512_set1_epi8(16);
    const __mmask64 low_set = _mm512_test_epi8_mask(_mm512_shuffle_epi8(h, at), bits);
    const __mmask64 high_set = _mm512_test_epi8_mask(_mm512_shuffle_epi8(h, above), bits);
    *low = _mm512_mask_add_epi8(*low, low_set, *low, sixteen);
    *high = _mm512_mask_add_epi8(*high, high_set, *high, sixteen);
  }
};

struct CodesQ8_0 {
  static constexpr int64_t kBytes = sizeof(BlockQ8_0);
  static constexpr int kOffset = 128;

  static void Codes(const WideGroup& group, int64_t offset, int i, __m512i, __m512i* low,
                    __m512i* high) {
    const __m512i flip = _mm512_set1_epi8(static_cast<char>(0x80));  // q + 128
    *low = _mm512_xor_si512(Load16x4(group, i, offset + 2), flip);
    *high = _mm512_xor_si512(Load16x4(group, i, offset + 18), flip);
  }
  static __m512i Extra(const WideGroup&, int64_t) { return _mm512_setzero_si512(); }
};

// Byte j of each lane as f32.
inline __m512 ByteToF32(__m512i v, int j) {
  return _mm512_cvtepi32_ps(_mm512_and_si512(_mm512_srli_epi32(v, 8 * j), _mm512_set1_epi32(0xFF)));
}
inline __m512 SignedByteToF32(__m512i v, int j) {
  return _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_slli_epi32(v, 24 - 8 * j), 24));
}

// What a q4_K super-block of 16 outputs has beside its codes.
struct ScalesQ4_K {
  __m512 d, minus_dmin;
  __m512i scales[2], mins[2];  // six bits each of sub-blocks 4i to 4i+3, a byte each
};

// The unpacking of docs/gguf.md. `offset` is that of the super-block in its row.
inline ScalesQ4_K DecodeScalesQ4_K(const WideGroup& group, int64_t offset) {
  __m512i head[4];  // d and dmin; s[0..3]; s[4..7]; s[8..11]
  for (int i = 0; i < 4; ++i) head[i] = Load16x4(group, i, offset);
  TransposeIn128(head);
  const __m512i six = _mm512_set1_epi8(63), four = _mm512_set1_epi8(15);
  const __m512i top = _mm512_set1_epi8(0x30);
  ScalesQ4_K out;
  out.d = LowHalfs(head[0]);
  out.minus_dmin = _mm512_xor_ps(HighHalfs(head[0]), _mm512_set1_ps(-0.0f));
  out.scales[0] = _mm512_and_si512(head[1], six);
  out.mins[0] = _mm512_and_si512(head[2], six);
  // The top two bits of s[j-4] and s[j], moved to bits 4 and 5.
  const __m512i scale_top = _mm512_and_si512(_mm512_srli_epi32(head[1], 2), top);
  const __m512i min_top = _mm512_and_si512(_mm512_srli_epi32(head[2], 2), top);
  const __m512i min_low = _mm512_and_si512(_mm512_srli_epi32(head[3], 4), four);
  out.scales[1] = _mm512_or_si512(_mm512_and_si512(head[3], four), scale_top);
  out.mins[1] = _mm512_or_si512(min_low, min_top);
  return out;
}

// What a q6_K super-block of 16 outputs has beside its codes.
struct ScalesQ6_K {
  __m512 d;
  __m512i four[4];  // scales 4i to 4i+3, a byte each
};

inline ScalesQ6_K DecodeScalesQ6_K(const WideGroup& group, int64_t offset) {
  ScalesQ6_K out;
  for (int i = 0; i < 4; ++i) out.four[i] = Load16x4(group, i, offset + 192);
  TransposeIn128(out.four);
  // d ends the block: read with the two scales before it, nothing past the weights.
  out.d = HighHalfs(Gather32(group, offset + 206));
  return out;
}

// The contract's two steps. ws * da and da * f32(msum) are each rounded once.
inline __m512 AddScaled(__m512 acc, __m512 isum, __m512 ws, __m512 da) {
  return _mm512_fmadd_ps(isum, _mm512_mul_ps(ws, da), acc);
}

inline __m512 AddMin(__m512 acc, __m512 wm, const ActivationChunk& a) {
  const __m512i msum = _mm512_madd_epi16(RepeatSums(a), _mm512_set1_epi16(1));
  const __m512 scaled = _mm512_mul_ps(_mm512_set1_ps(a.d), _mm512_cvtepi32_ps(msum));
  return _mm512_fmadd_ps(wm, scaled, acc);
}

}  // namespace
}  // namespace fg
