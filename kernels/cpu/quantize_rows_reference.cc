#include "kernels/cpu/quantize_rows_reference.h"

#include <bit>
#include <cmath>

namespace fg {
namespace {

ActivationChunk QuantizeChunk(const float* x) {
  ActivationChunk chunk = {};
  float amax = 0;
  for (int i = 0; i < 32; ++i) {
    if (!std::isfinite(x[i])) {
      chunk.d = std::bit_cast<float>(0x7FC00000u);
      return chunk;
    }
    if (std::fabs(x[i]) > amax) amax = std::fabs(x[i]);
  }
  if (amax < std::ldexp(1.0f, -100)) return chunk;
  chunk.d = amax / 127.0f;
  const float r = 127.0f / amax;
  for (int i = 0; i < 32; ++i) {
    const float product = x[i] * r;
    chunk.q[i] = static_cast<int8_t>(std::rint(product));
    chunk.sum[i < 16 ? 0 : 1] = static_cast<int16_t>(chunk.sum[i < 16 ? 0 : 1] + chunk.q[i]);
  }
  return chunk;
}

}  // namespace

void QuantizeRowsContract(const float* x, int64_t ldx, int64_t rows, int64_t k,
                          ActivationChunk* plane) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < k / 32; ++c) {
      plane[row * (k / 32) + c] = QuantizeChunk(x + row * ldx + 32 * c);
    }
  }
}

}  // namespace fg
