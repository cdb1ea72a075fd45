#include <cmath>

#include "kernels/cpu/matvec_levels.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

constexpr int kSumLanes = 16;

float Exact(float value) { return value; }

template <typename Weight, float (*kToF32)(Weight)>
float Dot(const Weight* w, const float* x, int64_t k) {
  float lanes[kSumLanes] = {};
  for (int64_t i = 0; i < k; ++i) {
    float& lane = lanes[i % kSumLanes];
    lane = std::fma(kToF32(w[i]), x[i], lane);
  }
  for (int width = kSumLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

template <typename Weight, float (*kToF32)(Weight)>
void Run(const void* w, const float* x, int64_t k, const float* bias, Range outs, float* y) {
  for (int64_t o = outs.begin; o < outs.end; ++o) {
    const float sum = Dot<Weight, kToF32>(static_cast<const Weight*>(w) + o * k, x, k);
    y[o] = bias == nullptr ? sum : sum + bias[o];
  }
}

}  // namespace

void MatvecFloatPlain(TensorType type, const void* w, const float* x, int64_t k, const float* bias,
                      Range outs, float* y) {
  switch (type) {
    case TensorType::kF32:
      return Run<float, Exact>(w, x, k, bias, outs, y);
    case TensorType::kF16:
      return Run<uint16_t, F16ToF32>(w, x, k, bias, outs, y);
    case TensorType::kBF16:
      return Run<uint16_t, BF16ToF32>(w, x, k, bias, outs, y);
    default:
      return;  // not a float type
  }
}

}  // namespace fg
