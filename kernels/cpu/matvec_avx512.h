// What the AVX-512 kernels of raw quantized rows share. For *_avx512.cc files alone: everything
// here has internal linkage, so that no copy can be linked into code for any processor.
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

// Asks for the weights that come a group later, a share at each step, in the order of memory: a
// single rising stream, which the processor's own prefetcher follows. Without it 16 rows at once
// are read at half the speed of a plain read, with it at 95 %.
class Ahead {
 public:
  Ahead(const void* group, int64_t group_bytes)
      : at_(static_cast<const char*>(group) + (group_bytes > kLeast ? group_bytes : kLeast)) {}
  template <int64_t kBytes>
  void Step() {
    // To the second-level cache: a group of long rows is larger than the first.
    for (int64_t i = 0; i < kBytes; i += 64) _mm_prefetch(at_ + i, _MM_HINT_T1);
    at_ += kBytes;
  }

 private:
  static constexpr int64_t kLeast = 8192;
  const char* at_;
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

// Both i16 sums of a chunk in every 32-bit lane.
inline __m512i RepeatSums(const ActivationChunk& a) {
  int sums;
  __builtin_memcpy(&sums, a.sum, sizeof(sums));
  return _mm512_set1_epi32(sums);
}

// The contract's two steps. ws * da and da * f32(msum) are each rounded once.
inline __m512 AddScaled(__m512 acc, __m512 isum, __m512 ws, __m512 da) {
  return _mm512_fmadd_ps(isum, _mm512_mul_ps(ws, da), acc);
}

inline __m512 AddMin(__m512 acc, __m512 wm, const ActivationChunk& a) {
  return _mm512_fmadd_ps(wm, _mm512_set1_ps(a.d * static_cast<float>(a.sum[0] + a.sum[1])), acc);
}

}  // namespace
}  // namespace fg
