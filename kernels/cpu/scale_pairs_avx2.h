// The scales of a q4_K super-block as pairs (kernels/formats/planes.h), four sub-blocks at a time.
// For *_avx2.cc and *_avx512.cc files alone: internal linkage, as in mmq_avx2.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/formats/blocks.h"

namespace fg {
namespace {

// The pairs of sub-blocks 4*half .. 4*half + 3, as docs/gguf.md unpacks them.
inline void DecodeScalePairs(const BlockQ4_K& block, int half, float pairs[8]) {
  uint32_t s[3];
  __builtin_memcpy(s, block.s, sizeof(s));
  uint32_t sc = s[0] & 0x3F3F3F3F, m = s[1] & 0x3F3F3F3F;
  if (half == 1) {
    sc = (s[2] & 0x0F0F0F0F) | ((s[0] >> 2) & 0x30303030);
    m = ((s[2] >> 4) & 0x0F0F0F0F) | ((s[1] >> 2) & 0x30303030);
  }
  const auto scaled = [](uint16_t half_float, __m128 sign, uint32_t six_bits) {
    const __m128 factor = _mm_xor_ps(_mm_set1_ps(_cvtsh_ss(half_float)), sign);
    const __m128i bytes = _mm_cvtsi32_si128(static_cast<int>(six_bits));
    return _mm_mul_ps(factor, _mm_cvtepi32_ps(_mm_cvtepu8_epi32(bytes)));
  };
  const __m128 ws = scaled(block.d, _mm_setzero_ps(), sc);
  const __m128 wm = scaled(block.dmin, _mm_set1_ps(-0.0f), m);
  _mm_storeu_ps(pairs, _mm_unpacklo_ps(ws, wm));
  _mm_storeu_ps(pairs + 4, _mm_unpackhi_ps(ws, wm));
}

}  // namespace
}  // namespace fg
