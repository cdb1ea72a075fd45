#include <immintrin.h>

#include "kernels/cpu/peak_levels.h"

namespace fg {
namespace {

constexpr int kSums = 8;   // independent, so that no product waits for another
constexpr int kSteps = 8;  // 16-bit sums of 8 * 2 * 15 * 127 fit

// What every product needs on this level: a multiplication to 16 bits and a sum of 16 bits; the sum
// is widened once a round.
void Round(__m256i* factors, __m256i* sums) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i part[kSums];
  for (auto& of : part) of = _mm256_setzero_si256();
  for (int step = 0; step < kSteps; ++step) {
    asm volatile("" : "+x"(factors[0]), "+x"(factors[1]));
    for (auto& of : part) {
      of = _mm256_add_epi16(of, _mm256_maddubs_epi16(factors[0], factors[1]));
      // Equal products would be computed once.
      asm volatile("" : "+x"(factors[0]));
    }
  }
  for (int i = 0; i < kSums; ++i) {
    sums[i] = _mm256_add_epi32(sums[i], _mm256_madd_epi16(part[i], ones));
  }
}

uint64_t SumOf(const __m256i* sums, int count, int bits) {
  uint64_t total = 0;
  for (int i = 0; i < count; ++i) {
    alignas(32) uint64_t parts[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(parts), sums[i]);
    for (const uint64_t part : parts) {
      total += bits == 64 ? part : (part & 0xFFFFFFFFu) + (part >> 32);
    }
  }
  return total;
}

}  // namespace

uint32_t RunInt8PeakAvx2(int64_t rounds, uint8_t a, int8_t b) {
  __m256i factors[2] = {_mm256_set1_epi8(static_cast<char>(a)), _mm256_set1_epi8(b)};
  __m256i sums[kSums];
  for (auto& sum : sums) sum = _mm256_setzero_si256();
  for (int64_t round = 0; round < rounds; ++round) Round(factors, sums);
  return static_cast<uint32_t>(SumOf(sums, kSums, 32));
}

uint64_t RunPlainReadAvx2(const uint64_t* data, size_t words) {
  __m256i sums[4];
  for (auto& sum : sums) sum = _mm256_setzero_si256();
  const auto* at = reinterpret_cast<const __m256i*>(data);
  for (size_t i = 0; i < words / 4; i += 4) {
    for (int j = 0; j < 4; ++j) sums[j] = _mm256_add_epi64(sums[j], _mm256_load_si256(at + i + j));
  }
  return SumOf(sums, 4, 64);
}

}  // namespace fg
