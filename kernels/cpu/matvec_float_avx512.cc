#include "kernels/cpu/matvec_levels.h"
#include "kernels/cpu/mmq_avx512.h"

namespace fg {
namespace {

// Outputs that go side by side: eight chains hide the instruction's latency. Each output keeps its
// own 16 lanes in one vector, so their number changes no bit.
constexpr int kOuts = 8;

// Sixteen weights as f32, exactly; those that `used` leaves out are not read.
struct F32 {
  using Weight = float;
  static __m512 Load(const Weight* w) { return _mm512_loadu_ps(w); }
  static __m512 Load(__mmask16 used, const Weight* w) { return _mm512_maskz_loadu_ps(used, w); }
};

struct F16 {
  using Weight = uint16_t;
  static __m512 Load(const Weight* w) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(w)));
  }
  static __m512 Load(__mmask16 used, const Weight* w) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(used, w));
  }
};

struct BF16 {
  using Weight = uint16_t;
  static __m512 Widen(__m256i halves) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
  static __m512 Load(const Weight* w) {
    return Widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(w)));
  }
  static __m512 Load(__mmask16 used, const Weight* w) {
    return Widen(_mm256_maskz_loadu_epi16(used, w));
  }
};

float Tree(__m512 lanes) {
  const __m256 eight =
      _mm256_add_ps(_mm512_castps512_ps256(lanes), _mm512_extractf32x8_ps(lanes, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

template <typename Type, int kCount>
void Dots(const typename Type::Weight* w, const float* x, int64_t k, float* sums) {
  constexpr int64_t kStep = kCount * 16 * static_cast<int64_t>(sizeof(*w));
  Ahead ahead(w, kCount * k * static_cast<int64_t>(sizeof(*w)));
  __m512 acc[kCount];
  for (int o = 0; o < kCount; ++o) acc[o] = _mm512_setzero_ps();
  int64_t i = 0;
  for (; i + 16 <= k; i += 16) {
    ahead.Step<kStep>();
    const __m512 values = _mm512_loadu_ps(x + i);
    for (int o = 0; o < kCount; ++o) {
      acc[o] = _mm512_fmadd_ps(Type::Load(w + o * k + i), values, acc[o]);
    }
  }
  // The last k % 16 values. Lanes without one keep their sum as it is: a product of zeros would
  // turn a -0 there into +0.
  const __mmask16 used = static_cast<__mmask16>((1u << (k - i)) - 1);
  const __m512 values = _mm512_maskz_loadu_ps(used, x + i);
  for (int o = 0; o < kCount; ++o) {
    if (used != 0) {
      acc[o] = _mm512_mask3_fmadd_ps(Type::Load(used, w + o * k + i), values, acc[o], used);
    }
    sums[o] = Tree(acc[o]);
  }
}

template <typename Type>
void Run(const void* w, const float* x, int64_t k, const float* bias, Range outs, float* y) {
  const auto* weights = static_cast<const typename Type::Weight*>(w);
  int64_t o = outs.begin;
  for (; o + kOuts <= outs.end; o += kOuts) Dots<Type, kOuts>(weights + o * k, x, k, y + o);
  for (; o < outs.end; ++o) Dots<Type, 1>(weights + o * k, x, k, y + o);
  if (bias == nullptr) return;
  for (o = outs.begin; o < outs.end; ++o) y[o] = y[o] + bias[o];
}

}  // namespace

void MatvecFloatAvx512(TensorType type, const void* w, const float* x, int64_t k, const float* bias,
                       Range outs, float* y) {
  switch (type) {
    case TensorType::kF32:
      return Run<F32>(w, x, k, bias, outs, y);
    case TensorType::kF16:
      return Run<F16>(w, x, k, bias, outs, y);
    case TensorType::kBF16:
      return Run<BF16>(w, x, k, bias, outs, y);
    default:
      return;  // not a float type
  }
}

}  // namespace fg
