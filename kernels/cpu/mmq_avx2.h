// What the AVX2 int8 kernels share. For *_avx2.cc files alone: everything here has internal
// linkage, so that no copy built for AVX2 can be linked into code for any processor.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/formats/blocks.h"

namespace fg {
namespace {

constexpr int kLanes = 8;  // outputs that share a vector, one f32 lane each

// The rows of up to eight neighbouring outputs. Lanes past the last one repeat it, so that every
// load stays inside the weights; they are never stored.
struct OutGroup {
  const uint8_t* row[kLanes];
  int64_t out;  // of lane 0
  int valid;    // lanes that are stored
};

inline OutGroup MakeOutGroup(const void* w, int64_t row_bytes, int64_t out, int64_t end) {
  OutGroup group;
  group.out = out;
  group.valid = end - out < kLanes ? static_cast<int>(end - out) : kLanes;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int64_t o = out + (lane < group.valid ? lane : group.valid - 1);
    group.row[lane] = static_cast<const uint8_t*>(w) + o * row_bytes;
  }
  return group;
}

// y[0..valid) = acc (+ bias[out..]). y points at the group's first output.
inline void StoreGroup(const OutGroup& group, __m256 acc, const float* bias, float* y) {
  if (group.valid == kLanes) {
    if (bias != nullptr) acc = _mm256_add_ps(acc, _mm256_loadu_ps(bias + group.out));
    _mm256_storeu_ps(y, acc);
    return;
  }
  alignas(32) float lanes[kLanes];
  _mm256_store_ps(lanes, acc);
  for (int i = 0; i < group.valid; ++i) {
    y[i] = bias != nullptr ? lanes[i] + bias[group.out + i] : lanes[i];
  }
}

inline uint32_t LoadU32(const void* p) {
  uint32_t value;
  __builtin_memcpy(&value, p, sizeof(value));
  return value;
}

inline __m256i LoadBytes(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}

// Lane o = the u32 at `offset` in row o.
inline __m256i GatherU32(const OutGroup& group, int64_t offset) {
  const auto at = [&](int lane) { return static_cast<int>(LoadU32(group.row[lane] + offset)); };
  return _mm256_setr_epi32(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7));
}

// Lane o = the f16 at `offset` in row o, as f32.
inline __m256 GatherHalf(const OutGroup& group, int64_t offset) {
  const auto at = [&](int lane) {
    uint16_t half;
    __builtin_memcpy(&half, group.row[lane] + offset, sizeof(half));
    return static_cast<short>(half);
  };
  return _mm256_cvtph_ps(_mm_setr_epi16(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)));
}

// The 16 bytes of nibbles of a q4_0 or q5_0 block: values 0-15 in the low half, 16-31 above.
inline __m256i Nibbles(const void* q) {
  const __m128i packed = _mm_loadu_si128(static_cast<const __m128i*>(q));
  const __m128i four = _mm_set1_epi8(15);
  return _mm256_set_m128i(_mm_and_si128(_mm_srli_epi16(packed, 4), four),
                          _mm_and_si128(packed, four));
}

// n (0..31) of the q5_0 block at `block`.
inline __m256i CodesQ5_0(const uint8_t* block) {
  // Byte i of h to the eight bytes of values 8i to 8i+7, then each value's own bit.
  const __m256i spread =
      _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
  const __m256i bits = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201));
  const __m256i h =
      _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(LoadU32(block + 2))), spread);
  const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(h, bits), bits);
  return _mm256_or_si256(Nibbles(block + 6), _mm256_and_si256(set, _mm256_set1_epi8(16)));
}

// v[i] lane j becomes v[j] lane i, lanes of 32 bits.
inline void Transpose8x8(__m256i v[8]) {
  __m256i t[8];
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm256_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
  }
  __m256i u[8];
  for (int i = 0; i < 2; ++i) {
    u[4 * i] = _mm256_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
    u[4 * i + 1] = _mm256_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
    u[4 * i + 2] = _mm256_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
    u[4 * i + 3] = _mm256_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    v[i] = _mm256_permute2x128_si256(u[i], u[i + 4], 0x20);
    v[i + 4] = _mm256_permute2x128_si256(u[i], u[i + 4], 0x31);
  }
}

// v[o] holds eight partial sums of output o, four of values 0-15 below four of values 16-31.
// *first lane o = the sum of the former, *second that of the latter.
inline void HalfSums(const __m256i v[8], __m256i* first, __m256i* second) {
  const __m256i low =
      _mm256_hadd_epi32(_mm256_hadd_epi32(v[0], v[1]), _mm256_hadd_epi32(v[2], v[3]));
  const __m256i high =
      _mm256_hadd_epi32(_mm256_hadd_epi32(v[4], v[5]), _mm256_hadd_epi32(v[6], v[7]));
  *first = _mm256_permute2x128_si256(low, high, 0x20);
  *second = _mm256_permute2x128_si256(low, high, 0x31);
}

inline __m256i FullSums(const __m256i v[8]) {
  __m256i first, second;
  HalfSums(v, &first, &second);
  return _mm256_add_epi32(first, second);
}

// Both i16 sums of a chunk in every 32-bit lane.
inline __m256i BroadcastSums(const ActivationChunk& a) {
  return _mm256_set1_epi32(static_cast<int>(LoadU32(a.sum)));
}

// The sum of the chunk's 32 values in every lane.
inline __m256i BroadcastTotal(const ActivationChunk& a) {
  return _mm256_madd_epi16(BroadcastSums(a), _mm256_set1_epi16(1));
}

// The contract's two steps. ws * da and da * f32(msum) are each rounded once.
inline __m256 AddScaled(__m256 acc, __m256i isum, __m256 ws, __m256 da) {
  return _mm256_fmadd_ps(_mm256_cvtepi32_ps(isum), _mm256_mul_ps(ws, da), acc);
}

inline __m256 AddMin(__m256 acc, __m256 wm, __m256 da, __m256i total) {
  return _mm256_fmadd_ps(wm, _mm256_mul_ps(da, _mm256_cvtepi32_ps(total)), acc);
}

// Sub-block j, lane o: ws = d * sc and wm = -dmin * m of a q4_K super-block.
struct alignas(32) ScalesQ4_K {
  float ws[8][kLanes];
  float wm[8][kLanes];
};

// Byte j of `scales` and `mins` (j 0-3, six bits) of every lane to rows first + j of *out.
inline void StoreScales(__m256i scales, __m256i mins, int first, __m256 d, __m256 minus_dmin,
                        ScalesQ4_K* out) {
  const __m256i byte = _mm256_set1_epi32(0xFF);
  for (int j = 0; j < 4; ++j) {
    const __m256 sc = _mm256_cvtepi32_ps(_mm256_and_si256(scales, byte));
    const __m256 m = _mm256_cvtepi32_ps(_mm256_and_si256(mins, byte));
    _mm256_store_ps(out->ws[first + j], _mm256_mul_ps(d, sc));
    _mm256_store_ps(out->wm[first + j], _mm256_mul_ps(minus_dmin, m));
    scales = _mm256_srli_epi32(scales, 8);
    mins = _mm256_srli_epi32(mins, 8);
  }
}

// The unpacking of docs/gguf.md for four sub-blocks of eight outputs at a time. `offset` is that
// of the super-block in its row.
inline void DecodeScalesQ4_K(const OutGroup& group, int64_t offset, ScalesQ4_K* out) {
  const __m256 d = GatherHalf(group, offset);
  const __m256 dmin = GatherHalf(group, offset + 2);
  const __m256 minus_dmin = _mm256_xor_ps(dmin, _mm256_set1_ps(-0.0f));
  const __m256i s0 = GatherU32(group, offset + 4);   // s[0..3]
  const __m256i s4 = GatherU32(group, offset + 8);   // s[4..7]
  const __m256i s8 = GatherU32(group, offset + 12);  // s[8..11]
  const __m256i six = _mm256_set1_epi8(63);
  const __m256i four = _mm256_set1_epi8(15);
  const __m256i upper = _mm256_set1_epi8(0x30);
  StoreScales(_mm256_and_si256(s0, six), _mm256_and_si256(s4, six), 0, d, minus_dmin, out);
  // The top two bits of s[j-4] and s[j], moved to bits 4 and 5.
  const __m256i scale_top = _mm256_and_si256(_mm256_srli_epi32(s0, 2), upper);
  const __m256i min_top = _mm256_and_si256(_mm256_srli_epi32(s4, 2), upper);
  const __m256i scale_low = _mm256_and_si256(s8, four);
  const __m256i min_low = _mm256_and_si256(_mm256_srli_epi32(s8, 4), four);
  StoreScales(_mm256_or_si256(scale_low, scale_top), _mm256_or_si256(min_low, min_top), 4, d,
              minus_dmin, out);
}

}  // namespace
}  // namespace fg
