#include <immintrin.h>

#include "kernels/cpu/matvec_levels.h"

namespace fg {
namespace {

// Outputs that go side by side: eight fma chains hide the instruction's latency. Each keeps its
// own 16 lanes, so their number changes no bit.
constexpr int kOuts = 4;

// Eight weights as f32, exactly.
struct F32 {
  using Weight = float;
  static __m256 Load8(const Weight* w) { return _mm256_loadu_ps(w); }
};

struct F16 {
  using Weight = uint16_t;
  static __m256 Load8(const Weight* w) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w)));
  }
};

struct BF16 {
  using Weight = uint16_t;
  static __m256 Load8(const Weight* w) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(w));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
  }
};

struct Lanes {
  __m256 low;   // lanes 0-7
  __m256 high;  // lanes 8-15
};

// The last k % 16 values. Lanes without a value keep their sum as it is: a product of zeros would
// turn a -0 there into +0.
template <typename Type>
Lanes AddTail(const typename Type::Weight* w, const float* x, int count, Lanes acc) {
  alignas(32) typename Type::Weight weights[16] = {};
  alignas(32) float values[16] = {};
  alignas(32) int32_t used[16] = {};
  for (int i = 0; i < count; ++i) {
    weights[i] = w[i];
    values[i] = x[i];
    used[i] = -1;
  }
  const __m256 low = _mm256_fmadd_ps(Type::Load8(weights), _mm256_load_ps(values), acc.low);
  const __m256 high =
      _mm256_fmadd_ps(Type::Load8(weights + 8), _mm256_load_ps(values + 8), acc.high);
  const __m256i* mask = reinterpret_cast<const __m256i*>(used);
  return {_mm256_blendv_ps(acc.low, low, _mm256_castsi256_ps(_mm256_load_si256(mask))),
          _mm256_blendv_ps(acc.high, high, _mm256_castsi256_ps(_mm256_load_si256(mask + 1)))};
}

float Tree(Lanes acc) {
  const __m256 eight = _mm256_add_ps(acc.low, acc.high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

template <typename Type, int kCount>
void Dots(const typename Type::Weight* w, const float* x, int64_t k, float* sums) {
  Lanes acc[kCount];
  for (int o = 0; o < kCount; ++o) acc[o] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  int64_t i = 0;
  for (; i + 16 <= k; i += 16) {
    const __m256 low = _mm256_loadu_ps(x + i);
    const __m256 high = _mm256_loadu_ps(x + i + 8);
    for (int o = 0; o < kCount; ++o) {
      acc[o].low = _mm256_fmadd_ps(Type::Load8(w + o * k + i), low, acc[o].low);
      acc[o].high = _mm256_fmadd_ps(Type::Load8(w + o * k + i + 8), high, acc[o].high);
    }
  }
  for (int o = 0; o < kCount; ++o) {
    if (i < k) acc[o] = AddTail<Type>(w + o * k + i, x + i, static_cast<int>(k - i), acc[o]);
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

void MatvecFloatAvx2(TensorType type, const void* w, const float* x, int64_t k, const float* bias,
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
