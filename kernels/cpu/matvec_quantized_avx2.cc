#include "kernels/cpu/matvec_levels.h"
#include "kernels/cpu/mmq_avx2.h"

namespace fg {
namespace {

// Eight outputs at a time: eight dot products of 32 values, their sums brought to one lane each.

__m256i Products(__m256i n, __m256i values) {
  // n is unsigned and at most 128, values at most 127 in size: a pair is below 2^15.
  return _mm256_madd_epi16(_mm256_maddubs_epi16(n, values), _mm256_set1_epi16(1));
}

// Blocks of 32 that begin with d. Codes::Sums gives a block's products with the activations; each
// code is 2^kOffsetBits too large, or right where kOffsetBits is 0.
template <typename Codes>
struct Blocks32 {
  static __m256 Dot(const OutGroup& group, const ActivationChunk* a, int64_t k) {
    __m256 acc = _mm256_setzero_ps();
    for (int64_t c = 0; c < k / kBlock32; ++c) {
      const int64_t offset = c * Codes::kBytes;
      const __m256i values = LoadBytes(a[c].q);
      __m256i parts[kLanes];
      for (int lane = 0; lane < kLanes; ++lane) {
        parts[lane] = Codes::Sums(group.row[lane] + offset, values);
      }
      __m256i isum = FullSums(parts);
      // sum((n - offset) * a) = sum(n * a) - offset * sum(a)
      if constexpr (Codes::kOffsetBits > 0) {
        isum = _mm256_sub_epi32(isum, _mm256_slli_epi32(BroadcastTotal(a[c]), Codes::kOffsetBits));
      }
      acc = AddScaled(acc, isum, GatherHalf(group, offset), _mm256_broadcast_ss(&a[c].d));
    }
    return acc;
  }
};

struct CodesOfQ4_0 {
  static constexpr int64_t kBytes = sizeof(BlockQ4_0);
  static constexpr int kOffsetBits = 3;
  static __m256i Sums(const uint8_t* block, __m256i values) {
    return Products(Nibbles(block + 2), values);
  }
};

struct CodesOfQ5_0 {
  static constexpr int64_t kBytes = sizeof(BlockQ5_0);
  static constexpr int kOffsetBits = 4;
  static __m256i Sums(const uint8_t* block, __m256i values) {
    return Products(CodesQ5_0(block), values);
  }
};

struct CodesOfQ8_0 {
  static constexpr int64_t kBytes = sizeof(BlockQ8_0);
  static constexpr int kOffsetBits = 0;
  static __m256i Sums(const uint8_t* block, __m256i values) {
    const __m256i q = LoadBytes(block + 2);
    return Products(_mm256_abs_epi8(q), _mm256_sign_epi8(values, q));
  }
};

using Q4_0 = Blocks32<CodesOfQ4_0>;
using Q5_0 = Blocks32<CodesOfQ5_0>;
using Q8_0 = Blocks32<CodesOfQ8_0>;

struct Q4_K {
  static __m256 Dot(const OutGroup& group, const ActivationChunk* a, int64_t k) {
    ScalesQ4_K scales;
    __m256 acc = _mm256_setzero_ps();
    for (int64_t s = 0; s < k / kSuperBlock; ++s) {
      const int64_t offset = s * static_cast<int64_t>(sizeof(BlockQ4_K));
      DecodeScalesQ4_K(group, offset, &scales);
      for (int j = 0; j < 8; ++j) {
        acc = AddSubBlock(group, offset + 16 + 32 * (j / 2), j, scales, a[8 * s + j], acc);
      }
    }
    return acc;
  }

  static __m256 AddSubBlock(const OutGroup& group, int64_t offset, int j, const ScalesQ4_K& scales,
                            const ActivationChunk& a, __m256 acc) {
    const __m128i shift = _mm_cvtsi32_si128(4 * (j % 2));
    const __m256i values = LoadBytes(a.q);
    __m256i parts[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      const __m256i packed = LoadBytes(group.row[lane] + offset);
      const __m256i n = _mm256_and_si256(_mm256_srl_epi16(packed, shift), _mm256_set1_epi8(15));
      parts[lane] = Products(n, values);
    }
    const __m256 da = _mm256_broadcast_ss(&a.d);
    acc = AddScaled(acc, FullSums(parts), _mm256_load_ps(scales.ws[j]), da);
    return AddMin(acc, _mm256_load_ps(scales.wm[j]), da, BroadcastTotal(a));
  }
};

struct Q6_K {
  static __m256 Dot(const OutGroup& group, const ActivationChunk* a, int64_t k) {
    __m256 acc = _mm256_setzero_ps();
    for (int64_t s = 0; s < k / kSuperBlock; ++s) {
      const int64_t offset = s * static_cast<int64_t>(sizeof(BlockQ6_K));
      // scales[c] lane o: the two scales of chunk c of output o, an i16 each.
      __m256i scales[8];
      for (int lane = 0; lane < kLanes; ++lane) {
        const void* at = group.row[lane] + offset + 192;
        scales[lane] = _mm256_cvtepi8_epi16(_mm_loadu_si128(static_cast<const __m128i*>(at)));
      }
      Transpose8x8(scales);
      const __m256 d = GatherHalf(group, offset + 208);
      for (int c = 0; c < 8; ++c) {
        const __m256i isum = ChunkSum(group, offset, c, scales[c], a[8 * s + c]);
        acc = AddScaled(acc, isum, d, _mm256_broadcast_ss(&a[8 * s + c].d));
      }
    }
    return acc;
  }

  static __m256i ChunkSum(const OutGroup& group, int64_t offset, int c, __m256i scales,
                          const ActivationChunk& a) {
    const int half = c / 4, quarter = c % 4;
    const int64_t low_at = offset + 64 * half + 32 * (quarter % 2);
    const int64_t high_at = offset + 128 + 32 * half;
    const __m128i low_shift = _mm_cvtsi32_si128(quarter < 2 ? 0 : 4);
    const __m128i high_shift = _mm_cvtsi32_si128(2 * quarter);
    const __m256i values = LoadBytes(a.q);
    __m256i parts[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      const __m256i ql = LoadBytes(group.row[lane] + low_at);
      const __m256i qh = LoadBytes(group.row[lane] + high_at);
      const __m256i low = _mm256_and_si256(_mm256_srl_epi16(ql, low_shift), _mm256_set1_epi8(15));
      const __m256i high = _mm256_and_si256(_mm256_srl_epi16(qh, high_shift), _mm256_set1_epi8(3));
      parts[lane] = Products(_mm256_or_si256(low, _mm256_slli_epi16(high, 4)), values);
    }
    __m256i first, second;
    HalfSums(parts, &first, &second);
    const __m256i scale0 = _mm256_srai_epi32(_mm256_slli_epi32(scales, 16), 16);
    const __m256i scale1 = _mm256_srai_epi32(scales, 16);
    const __m256i scaled =
        _mm256_add_epi32(_mm256_mullo_epi32(first, scale0), _mm256_mullo_epi32(second, scale1));
    // sum(sc * (n - 32) * a) = sum(sc * n * a) - 32 * (sc0 * sum0 + sc1 * sum1)
    const __m256i offsets = _mm256_madd_epi16(scales, BroadcastSums(a));
    return _mm256_sub_epi32(scaled, _mm256_slli_epi32(offsets, 5));
  }
};

template <typename Type>
void Run(const void* w, int64_t row_bytes, const ActivationChunk* a, int64_t k, const float* bias,
         Range outs, float* y) {
  for (int64_t o = outs.begin; o < outs.end; o += kLanes) {
    const OutGroup group = MakeOutGroup(w, row_bytes, o, outs.end);
    StoreGroup(group, Type::Dot(group, a, k), bias, y + o);
  }
}

}  // namespace

void MatvecQuantizedAvx2(TensorType type, const void* w, const ActivationChunk* a, int64_t k,
                         const float* bias, Range outs, float* y) {
  const int64_t row_bytes = RowBytes(type, k);
  switch (type) {
    case TensorType::kQ4_0:
      return Run<Q4_0>(w, row_bytes, a, k, bias, outs, y);
    case TensorType::kQ5_0:
      return Run<Q5_0>(w, row_bytes, a, k, bias, outs, y);
    case TensorType::kQ8_0:
      return Run<Q8_0>(w, row_bytes, a, k, bias, outs, y);
    case TensorType::kQ4_K:
      return Run<Q4_K>(w, row_bytes, a, k, bias, outs, y);
    case TensorType::kQ6_K:
      return Run<Q6_K>(w, row_bytes, a, k, bias, outs, y);
    default:
      return;  // not a quantized type of this build
  }
}

}  // namespace fg
