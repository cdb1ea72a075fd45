#include <bit>
#include <cstring>

#include "kernels/cpu/quantize_rows_levels.h"

namespace fg {
namespace {

// Nearest integer, ties to even: within +-2^22 the sum with 1.5 * 2^23 leaves no fraction bit.
int RoundEven(float v) { return static_cast<int>((v + 12582912.0f) - 12582912.0f); }

template <KernelFault kFault>
void QuantizeChunk(const float* x, ActivationChunk* chunk) {
  // The bits of magnitudes order as the magnitudes do, with infinity and then NaN on top; a float
  // maximum would drop a NaN or keep it by the order of its operands.
  uint32_t largest = 0;
  for (int i = 0; i < kBlock32; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(x[i]) & 0x7FFFFFFF;
    if (bits > largest) largest = bits;
  }
  std::memset(chunk, 0, sizeof(*chunk));
  if (largest >= 0x7F800000) {
    chunk->d = std::bit_cast<float>(0x7FC00000u);
    return;
  }
  const float amax = std::bit_cast<float>(largest);
  if (amax < 0x1p-100f) return;
  chunk->d = amax / 127.0f;
  const float r = 127.0f / amax;
  int sums[2] = {0, 0};
  for (int i = 0; i < kBlock32; ++i) {
    int q = RoundEven(x[i] * r);
    if constexpr (kFault == KernelFault::kCoarseQuant) {
      q = 16 * RoundEven(static_cast<float>(q) * 0.0625f);
      if (q > 112) q = 112;
      if (q < -112) q = -112;
    }
    chunk->q[i] = static_cast<int8_t>(q);
    sums[i / 16] += q;
  }
  chunk->sum[0] = static_cast<int16_t>(sums[0]);
  chunk->sum[1] = static_cast<int16_t>(sums[1]);
}

template <KernelFault kFault>
void Quantize(const float* x, int64_t ldx, int64_t rows, int64_t k, ActivationChunk* plane) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < k; i += kBlock32) QuantizeChunk<kFault>(x + row * ldx + i, plane++);
  }
}

}  // namespace

void QuantizeRowsPlain(const float* x, int64_t ldx, int64_t rows, int64_t k, ActivationChunk* plane,
                       KernelFault fault) {
  if (fault == KernelFault::kCoarseQuant) {
    return Quantize<KernelFault::kCoarseQuant>(x, ldx, rows, k, plane);
  }
  Quantize<KernelFault::kNone>(x, ldx, rows, k, plane);
}

}  // namespace fg
