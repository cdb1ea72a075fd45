#include "kernels/cpu/attention_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/exp.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

// One row and head of the arguments, by index.
struct Head {
  const AttentionArgs& args;
  int64_t row, head;

  int64_t seen() const { return int64_t{args.positions[row]} + 1; }
  float q(int64_t d) const { return args.q[row * args.ldq + head * args.head_dim + d]; }
  int64_t Index(int64_t position, int64_t d) const {
    const int64_t kv_head = head / (args.heads / args.kv_heads);
    return (position * args.kv_heads + kv_head) * args.head_dim + d;
  }
  float key(int64_t position, int64_t d) const { return F16ToF32(args.keys[Index(position, d)]); }
  float value(int64_t position, int64_t d) const {
    return F16ToF32(args.values[Index(position, d)]);
  }
};

float Tree(const float (&lane)[16]) {
  float eight[8], four[4];
  for (int l = 0; l < 8; ++l) eight[l] = lane[l] + lane[l + 8];
  for (int l = 0; l < 4; ++l) four[l] = eight[l] + eight[l + 4];
  return (four[0] + four[2]) + (four[1] + four[3]);
}

void ContractHead(const Head& h, float* y) {
  const int64_t dim = h.args.head_dim;
  std::vector<float> p(static_cast<size_t>(h.seen()));
  const float scale = 1.0f / std::sqrt(static_cast<float>(dim));
  float max = -std::numeric_limits<float>::infinity();
  bool nan = false;
  for (int64_t i = 0; i < h.seen(); ++i) {
    float lane[16] = {};
    for (int64_t d = 0; d < dim; ++d) lane[d % 16] = std::fma(h.q(d), h.key(i, d), lane[d % 16]);
    const float score = Tree(lane) * scale;
    nan = nan || std::isnan(score);
    if (score > max) max = score;
    p[static_cast<size_t>(i)] = score;
  }
  float lane[16] = {};
  for (size_t i = 0; i < p.size(); ++i) {
    p[i] = ExpF32(p[i] - max);
    lane[i % 16] += p[i];
  }
  const float sum = Tree(lane);
  for (int64_t d = 0; d < dim; ++d) {
    float acc = 0.0f;
    for (int64_t i = 0; i < h.seen(); ++i) {
      acc = std::fma(p[static_cast<size_t>(i)], h.value(i, d), acc);
    }
    y[d] = nan ? std::numeric_limits<float>::quiet_NaN() : acc / sum;
  }
}

void ExactHead(const Head& h, AttentionExactResult* result) {
  const int64_t dim = h.args.head_dim;
  const double scale = 1.0 / std::sqrt(static_cast<double>(dim));
  std::vector<double> score;
  double max = -std::numeric_limits<double>::infinity();
  double min = std::numeric_limits<double>::infinity();
  double off = 0.0;  // the worst score's error
  for (int64_t i = 0; i < h.seen(); ++i) {
    double dot = 0.0, magnitude = 0.0;
    for (int64_t d = 0; d < dim; ++d) {
      const double term = static_cast<double>(h.q(d)) * h.key(i, d);
      dot += term;
      magnitude += std::abs(term);
    }
    score.push_back(dot * scale);
    max = std::max(max, score.back());
    min = std::min(min, score.back());
    off = std::max(off, (static_cast<double>(dim) / 16 + 8) * 0x1p-24 * scale * magnitude);
  }
  // Both the score and the maximum are off; and so are weights above and below the fraction bar.
  const double weight_off = 2 * off + (4 + max - min) * 0x1p-24;
  const double relative = 2 * (weight_off + static_cast<double>(h.seen() + 8) * 0x1p-24);
  for (int64_t d = 0; d < dim; ++d) {
    double sum = 0.0, acc = 0.0, magnitude = 0.0;
    for (int64_t i = 0; i < h.seen(); ++i) {
      const double weight = std::exp(score[static_cast<size_t>(i)] - max);
      sum += weight;
      acc += weight * h.value(i, d);
      magnitude += weight * std::abs(static_cast<double>(h.value(i, d)));
    }
    result->y.push_back(acc / sum);
    result->bound.push_back(1.01 * relative * magnitude / sum);
  }
}

}  // namespace

void AttentionContract(const AttentionArgs& args) {
  for (int64_t row = 0; row < args.rows; ++row) {
    for (int64_t head = 0; head < args.heads; ++head) {
      ContractHead({args, row, head}, args.y + row * args.ldy + head * args.head_dim);
    }
  }
}

AttentionExactResult AttentionExact(const AttentionArgs& args) {
  AttentionExactResult result;
  for (int64_t row = 0; row < args.rows; ++row) {
    for (int64_t head = 0; head < args.heads; ++head) ExactHead({args, row, head}, &result);
  }
  return result;
}

}  // namespace fg
