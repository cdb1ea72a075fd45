#include "kernels/cpu/attention.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/cpu/attention_avx2.h"
#include "kernels/cpu/attention_avx512.h"
#include "kernels/cpu/exp.h"
#include "kernels/cpu/lanes.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

float DotF16(const float* q, const uint16_t* key, int64_t n) {
  float lanes[kLanes] = {};
  for (int64_t k = 0; k < n; ++k) {
    float& lane = lanes[k % kLanes];
    lane = std::fma(q[k], F16ToF32(key[k]), lane);
  }
  return LaneTree(lanes);
}

// e^(score - max) in place of each score, and their sum; nothing where a score is NaN.
bool Softmax(float* scores, int64_t n, float* sum) {
  float max = scores[0];
  for (int64_t i = 0; i < n; ++i) {
    if (scores[i] != scores[i]) return false;
    if (scores[i] > max) max = scores[i];
  }
  ExpRow(CpuLevel::kPlain, scores, n, max, scores);
  float lanes[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) lanes[i % kLanes] += scores[i];
  *sum = LaneTree(lanes);
  return true;
}

void AttendItem(const AttentionArgs& args, int64_t item, float* scores) {
  const int64_t row = item / args.heads;
  const int64_t head = item % args.heads;
  const int64_t dim = args.head_dim;
  const int64_t offset = head / (args.heads / args.kv_heads) * dim;
  const int64_t stride = args.kv_heads * dim;
  const int64_t seen = int64_t{args.positions[row]} + 1;
  const float* q = args.q + row * args.ldq + head * dim;
  const float scale = 1.0f / std::sqrt(static_cast<float>(dim));
  float* y = args.y + row * args.ldy + head * dim;

  for (int64_t i = 0; i < seen; ++i) {
    scores[i] = DotF16(q, args.keys + i * stride + offset, dim) * scale;
  }
  float sum = 0.0f;
  if (!Softmax(scores, seen, &sum)) {
    std::fill(y, y + dim, std::bit_cast<float>(0x7FC00000u));
    return;
  }
  std::fill(y, y + dim, 0.0f);
  for (int64_t i = 0; i < seen; ++i) {
    const uint16_t* value = args.values + i * stride + offset;
    for (int64_t d = 0; d < dim; ++d) y[d] = std::fma(scores[i], F16ToF32(value[d]), y[d]);
  }
  for (int64_t d = 0; d < dim; ++d) y[d] /= sum;
}

}  // namespace

void Attention(CpuLevel level, const AttentionArgs& args, Range items, float* scratch) {
  if (level >= CpuLevel::kAvx512) return avx512::Attention(args, items, scratch);
  if (level >= CpuLevel::kAvx2) return avx2::Attention(args, items, scratch);
  for (int64_t item = items.begin; item < items.end; ++item) AttendItem(args, item, scratch);
}

}  // namespace fg
