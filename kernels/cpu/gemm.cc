#include "kernels/cpu/gemm.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/cpu/gemm_avx2.h"
#include "kernels/cpu/gemm_avx512.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

constexpr int64_t kPanel = 16;      // outputs whose accumulators run side by side
constexpr int64_t kBlockK = 128;    // values of k a packed panel holds
constexpr int64_t kBlockRows = 64;  // rows converted to f32 at a time

struct F16Weight {
  using Storage = uint16_t;
  static float Load(uint16_t w) { return F16ToF32(w); }
  // The product of two f16 values is exact in f32, so this is the fma of the contract, and the
  // compiler can do four at a time without an FMA instruction.
  static float MultiplyAdd(float w, float a, float acc) { return w * a + acc; }
};

// bf16 has the range of f32: a product with an f16 value may leave it, so mul and add are not
// enough.
struct BF16Weight {
  using Storage = uint16_t;
  static float Load(uint16_t w) { return BF16ToF32(w); }
  static float MultiplyAdd(float w, float a, float acc) { return std::fma(w, a, acc); }
};

struct F32Weight {
  using Storage = float;
  static float Load(float w) { return w; }
  static float MultiplyAdd(float w, float a, float acc) { return std::fma(w, a, acc); }
};

// 2^exponent for an exponent in -126..127.
float PowerOfTwo(int32_t exponent) {
  return std::bit_cast<float>(static_cast<uint32_t>(exponent + 127) << 23);
}

// What one call multiplies; `exponents` and `bias` may be null.
template <typename Weight>
struct Product {
  const typename Weight::Storage* w;
  const int32_t* exponents;
  int64_t k;
  const float* bias;
  Range outs;
  float* y;
  int64_t ldy;
};

// panel[i][o] = w[out + o][k0 + i]; lanes beyond the last output repeat it and are never stored.
template <typename Weight>
void PackPanel(const Product<Weight>& p, int64_t out, int64_t k0, int64_t depth, float* panel) {
  for (int64_t o = 0; o < kPanel; ++o) {
    const auto* w = p.w + std::min(out + o, p.outs.end - 1) * p.k + k0;
    for (int64_t i = 0; i < depth; ++i) panel[i * kPanel + o] = Weight::Load(w[i]);
  }
}

// Carries the accumulators of row `r`, outputs out.. over one block of k; they rest in y between
// blocks, an f32 that y holds exactly.
template <typename Weight>
void MultiplyRow(const Product<Weight>& p, const float* a, const float* panel, int64_t r,
                 int64_t out, int64_t k0, int64_t depth) {
  const int64_t count = std::min(kPanel, p.outs.end - out);
  float* y = p.y + r * p.ldy + out;
  float acc[kPanel] = {};
  if (k0 > 0) std::copy(y, y + count, acc);
  for (int64_t i = 0; i < depth; ++i) {
    for (int64_t o = 0; o < kPanel; ++o) {
      acc[o] = Weight::MultiplyAdd(panel[i * kPanel + o], a[i], acc[o]);
    }
  }
  if (k0 + depth == p.k) {
    const float scale = p.exponents != nullptr ? PowerOfTwo(p.exponents[r]) : 1.0f;
    for (int64_t o = 0; o < count; ++o) {
      acc[o] *= scale;
      if (p.bias != nullptr) acc[o] += p.bias[out + o];
    }
  }
  std::copy(acc, acc + count, y);
}

template <typename Weight>
void MultiplyBlock(const Product<Weight>& p, const float* a, int64_t lda, int64_t r0, int64_t rows,
                   int64_t k0, int64_t depth) {
  float panel[kBlockK * kPanel];
  for (int64_t out = p.outs.begin; out < p.outs.end; out += kPanel) {
    PackPanel(p, out, k0, depth, panel);
    for (int64_t r = 0; r < rows; ++r) MultiplyRow(p, a + r * lda, panel, r0 + r, out, k0, depth);
  }
}

template <typename Weight>
void MultiplyF16Rows(const Product<Weight>& p, const uint16_t* a, int64_t rows) {
  float block[kBlockRows * kBlockK];
  for (int64_t r0 = 0; r0 < rows; r0 += kBlockRows) {
    const int64_t count = std::min(kBlockRows, rows - r0);
    for (int64_t k0 = 0; k0 < p.k; k0 += kBlockK) {
      const int64_t depth = std::min(kBlockK, p.k - k0);
      for (int64_t r = 0; r < count; ++r) {
        const uint16_t* from = a + (r0 + r) * p.k + k0;
        for (int64_t i = 0; i < depth; ++i) block[r * kBlockK + i] = F16ToF32(from[i]);
      }
      MultiplyBlock(p, block, kBlockK, r0, count, k0, depth);
    }
  }
}

// The smallest k >= 0 with amax * 2^-k < 32768, from the bits of amax; 0 for NaN and infinity.
int32_t RowExponent(uint32_t amax_bits) {
  if (amax_bits >= 0x7F800000u) return 0;
  return std::max(0, static_cast<int32_t>(amax_bits >> 23) - 127 - 14);
}

}  // namespace

void RoundRowsToF16(CpuLevel level, const float* x, int64_t ldx, int64_t rows, int64_t k,
                    uint16_t* a, int32_t* exponents) {
  if (level >= CpuLevel::kAvx2) return avx2::RoundRowsToF16(x, ldx, rows, k, a, exponents);
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = x + r * ldx;
    uint32_t amax_bits = 0;  // of magnitudes the bits order as the values do, NaN above all
    for (int64_t i = 0; i < k; ++i) {
      amax_bits = std::max(amax_bits, std::bit_cast<uint32_t>(row[i]) & 0x7FFFFFFFu);
    }
    exponents[r] = RowExponent(amax_bits);
    const float scale = PowerOfTwo(-exponents[r]);
    for (int64_t i = 0; i < k; ++i) a[r * k + i] = F32ToF16(row[i] * scale);
  }
}

void GemmF16(CpuLevel level, const uint16_t* w, const uint16_t* a, const int32_t* exponents,
             int64_t rows, int64_t k, const float* bias, Range outs, float* y, int64_t ldy) {
  if (level >= CpuLevel::kAvx512) {
    return avx512::GemmF16(w, a, exponents, rows, k, bias, outs, y, ldy);
  }
  if (level >= CpuLevel::kAvx2) return avx2::GemmF16(w, a, exponents, rows, k, bias, outs, y, ldy);
  MultiplyF16Rows(Product<F16Weight>{w, exponents, k, bias, outs, y, ldy}, a, rows);
}

void GemmBF16(CpuLevel level, const uint16_t* w, const uint16_t* a, const int32_t* exponents,
              int64_t rows, int64_t k, const float* bias, Range outs, float* y, int64_t ldy) {
  if (level >= CpuLevel::kAvx512) {
    return avx512::GemmBF16(w, a, exponents, rows, k, bias, outs, y, ldy);
  }
  if (level >= CpuLevel::kAvx2) return avx2::GemmBF16(w, a, exponents, rows, k, bias, outs, y, ldy);
  MultiplyF16Rows(Product<BF16Weight>{w, exponents, k, bias, outs, y, ldy}, a, rows);
}

void GemmF32(CpuLevel level, const float* w, const float* x, int64_t ldx, int64_t rows, int64_t k,
             const float* bias, Range outs, float* y, int64_t ldy) {
  if (level >= CpuLevel::kAvx512) {
    return avx512::GemmF32(w, x, ldx, rows, k, bias, outs, y, ldy);
  }
  if (level >= CpuLevel::kAvx2) return avx2::GemmF32(w, x, ldx, rows, k, bias, outs, y, ldy);
  const Product<F32Weight> product{w, nullptr, k, bias, outs, y, ldy};
  for (int64_t r0 = 0; r0 < rows; r0 += kBlockRows) {
    const int64_t count = std::min(kBlockRows, rows - r0);
    for (int64_t k0 = 0; k0 < k; k0 += kBlockK) {
      MultiplyBlock(product, x + r0 * ldx + k0, ldx, r0, count, k0, std::min(kBlockK, k - k0));
    }
  }
}

}  // namespace fg
