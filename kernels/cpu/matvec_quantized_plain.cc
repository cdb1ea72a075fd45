#include <cmath>

#include "kernels/cpu/matvec_levels.h"
#include "kernels/cpu/weight_chunk.h"

namespace fg {
namespace {

template <typename Type>
float Dot(const typename Type::Block* w, const ActivationChunk* a, int64_t chunks) {
  float acc = 0;
  WeightChunk weights;
  for (int64_t c = 0; c < chunks; ++c) {
    Type::Decode(w[c / Type::kChunks], static_cast<int>(c % Type::kChunks), &weights);
    const float isum = static_cast<float>(ChunkDot(weights, a[c]));
    acc = std::fma(isum, weights.ws * a[c].d, acc);
    if constexpr (Type::kHasMin) {
      acc = std::fma(weights.wm, a[c].d * static_cast<float>(a[c].sum[0] + a[c].sum[1]), acc);
    }
  }
  return acc;
}

template <typename Type>
void Run(const void* w, const ActivationChunk* a, int64_t k, const float* bias, Range outs,
         float* y) {
  const int64_t chunks = k / kBlock32;
  for (int64_t o = outs.begin; o < outs.end; ++o) {
    const auto* row = static_cast<const typename Type::Block*>(w) + o * (chunks / Type::kChunks);
    const float acc = Dot<Type>(row, a, chunks);
    y[o] = bias == nullptr ? acc : acc + bias[o];
  }
}

}  // namespace

void MatvecQuantizedPlain(TensorType type, const void* w, const ActivationChunk* a, int64_t k,
                          const float* bias, Range outs, float* y) {
  switch (type) {
    case TensorType::kQ4_0:
      return Run<ChunksOfQ4_0>(w, a, k, bias, outs, y);
    case TensorType::kQ5_0:
      return Run<ChunksOfQ5_0>(w, a, k, bias, outs, y);
    case TensorType::kQ8_0:
      return Run<ChunksOfQ8_0>(w, a, k, bias, outs, y);
    case TensorType::kQ4_K:
      return Run<ChunksOfQ4_K>(w, a, k, bias, outs, y);
    case TensorType::kQ6_K:
      return Run<ChunksOfQ6_K>(w, a, k, bias, outs, y);
    default:
      return;  // not a quantized type of this build
  }
}

}  // namespace fg
