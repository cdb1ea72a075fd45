#include <algorithm>
#include <cmath>

#include "kernels/cpu/mmq_forms.h"
#include "kernels/cpu/weight_chunk.h"

namespace fg {
namespace {

// One output, rows first to first + count - 1: each chunk is decoded once, then met by all rows.
template <typename Type>
void OneOutput(const MmqArgs& args, int64_t out, int64_t first, int count) {
  using Block = typename Type::Block;
  const int64_t chunks = args.k / kBlock32;
  const Block* w = static_cast<const Block*>(args.w) + out * (chunks / Type::kChunks);
  float acc[kMmqRowBlock] = {};
  WeightChunk weights;
  for (int64_t c = 0; c < chunks; ++c) {
    Type::Decode(w[c / Type::kChunks], static_cast<int>(c % Type::kChunks), &weights);
    for (int i = 0; i < count; ++i) {
      const ActivationChunk& a = args.a[(first + i) * chunks + c];
      const float isum = static_cast<float>(ChunkDot(weights, a));
      acc[i] = std::fma(isum, weights.ws * a.d, acc[i]);
      if constexpr (Type::kHasMin) {
        acc[i] = std::fma(weights.wm, a.d * static_cast<float>(a.sum[0] + a.sum[1]), acc[i]);
      }
    }
  }
  for (int i = 0; i < count; ++i) {
    args.y[(first + i) * args.ldy + out] = args.bias == nullptr ? acc[i] : acc[i] + args.bias[out];
  }
}

template <typename Type>
void Run(const MmqArgs& args, Range outs) {
  for (int64_t first = 0; first < args.rows; first += kMmqRowBlock) {
    const int count = static_cast<int>(std::min<int64_t>(kMmqRowBlock, args.rows - first));
    for (int64_t o = outs.begin; o < outs.end; ++o) OneOutput<Type>(args, o, first, count);
  }
}

}  // namespace

void MmqGenericPlain(const MmqArgs& args, Range outs) {
  switch (args.type) {
    case TensorType::kQ4_0:
      return Run<ChunksOfQ4_0>(args, outs);
    case TensorType::kQ5_0:
      return Run<ChunksOfQ5_0>(args, outs);
    case TensorType::kQ8_0:
      return Run<ChunksOfQ8_0>(args, outs);
    case TensorType::kQ4_K:
      return Run<ChunksOfQ4_K>(args, outs);
    case TensorType::kQ6_K:
      return Run<ChunksOfQ6_K>(args, outs);
    default:
      return;  // MmqSupports says no
  }
}

}  // namespace fg
