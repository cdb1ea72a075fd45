#include <immintrin.h>

#include "kernels/cpu/peak_levels.h"

namespace fg {
namespace {

constexpr int kSums = 16;  // independent: more than two ports times five cycles need
constexpr int kSteps = 4;

}  // namespace

uint32_t RunInt8PeakAvx512(int64_t rounds, uint8_t a, int8_t b) {
  __m512i left = _mm512_set1_epi8(static_cast<char>(a)), right = _mm512_set1_epi8(b);
  __m512i sums[kSums];
  for (auto& sum : sums) sum = _mm512_setzero_si512();
  for (int64_t round = 0; round < rounds; ++round) {
    for (int step = 0; step < kSteps; ++step) {
      asm volatile("" : "+v"(left), "+v"(right));
      for (auto& sum : sums) sum = _mm512_dpbusd_epi32(sum, left, right);
    }
  }
  uint32_t total = 0;
  for (const auto& sum : sums) total += static_cast<uint32_t>(_mm512_reduce_add_epi32(sum));
  return total;
}

uint64_t RunPlainReadAvx512(const uint64_t* data, size_t words) {
  __m512i sums[8];
  for (auto& sum : sums) sum = _mm512_setzero_si512();
  for (size_t i = 0; i < words; i += 64) {
    for (int j = 0; j < 8; ++j) {
      sums[j] = _mm512_add_epi64(sums[j], _mm512_load_si512(data + i + 8 * j));
    }
  }
  uint64_t total = 0;
  for (const auto& sum : sums) total += static_cast<uint64_t>(_mm512_reduce_add_epi64(sum));
  return total;
}

}  // namespace fg
