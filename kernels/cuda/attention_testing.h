// What the tests of both attentions share: problems, exact results in double, runs on the device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/gpu_testing.h"
#include "kernels/formats/half.h"

namespace fg::cuda {

struct AttentionShape {
  int64_t heads, kv_heads, head_dim;
};

// Rows at positions first, first + 1, ... over a cache that holds NaN behind the last of them.
struct AttentionProblem {
  AttentionProblem(AttentionShape shape, int64_t rows, int64_t first, float spread = 1.0f)
      : shape(shape), rows(rows), first(first) {
    std::mt19937_64 random(static_cast<uint64_t>(rows * 131 + first * 7 + shape.head_dim));
    // Four sixteen-bit numbers added: near enough to a normal distribution of variance 1, and fast.
    const auto normal = [&random] {
      const uint64_t bits = random();
      const uint64_t sum =
          (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48);
      return (static_cast<float>(sum) - 131070.0f) * (1.0f / 37837.0f);
    };
    q.resize(static_cast<size_t>(rows * Width()));
    for (float& v : q) v = normal() * spread;
    const size_t held = static_cast<size_t>((first + rows) * KvWidth());
    keys.assign(held + static_cast<size_t>(70 * KvWidth()), 0x7E01);
    values = keys;
    for (size_t i = 0; i < held; ++i) {
      keys[i] = F32ToF16(normal());
      values[i] = F32ToF16(normal() + 0.25f);
    }
    for (int64_t r = 0; r < rows; ++r) positions.push_back(static_cast<int32_t>(first + r));
  }
  int64_t Width() const { return shape.heads * shape.head_dim; }
  int64_t KvWidth() const { return shape.kv_heads * shape.head_dim; }
  int64_t Length() const { return first + rows; }
  // Of q and y; of keys and values.
  size_t At(int64_t row, int64_t head, int64_t d) const {
    return static_cast<size_t>((row * shape.heads + head) * shape.head_dim + d);
  }
  size_t KvAt(int64_t position, int64_t kv_head, int64_t d) const {
    return static_cast<size_t>((position * shape.kv_heads + kv_head) * shape.head_dim + d);
  }
  int64_t KvHead(int64_t head) const { return head / (shape.heads / shape.kv_heads); }
  std::string Text() const {
    return std::to_string(shape.heads) + "/" + std::to_string(shape.kv_heads) + " heads of " +
           std::to_string(shape.head_dim) + ", " + std::to_string(rows) + " rows from " +
           std::to_string(first);
  }

  AttentionShape shape;
  int64_t rows, first;
  std::vector<float> q;
  std::vector<uint16_t> keys, values;
  std::vector<int32_t> positions;
};

// One row and head in double, for finite scores. With u the relative rounding of q's products and
// of p: a score is off by u times sum|q*key|*scale at most, a weight by twice that (the maximum is
// off too) and u, and both sides of the fraction bar are. `floor` is p's absolute rounding.
struct AttentionExact {
  AttentionExact(const AttentionProblem& problem, int64_t row, int64_t head, double u, double floor)
      : dim(problem.shape.head_dim) {
    const int64_t seen = problem.first + row + 1, kv = problem.KvHead(head);
    const double scale = 1.0 / std::sqrt(static_cast<double>(dim));
    double most = 0.0;
    for (int64_t i = 0; i < seen; ++i) {
      double dot = 0.0, magnitude = 0.0, square = 0.0;
      for (int64_t d = 0; d < dim; ++d) {
        const double term = static_cast<double>(problem.q[problem.At(row, head, d)]) *
                            F16ToF32(problem.keys[problem.KvAt(i, kv, d)]);
        dot += term;
        magnitude += std::abs(term);
        square += term * term;
      }
      score.push_back(dot * scale);
      most = std::max(most, magnitude * scale);
      spread = std::max(spread, std::sqrt(square) * scale);
    }
    Finish(problem, kv, 2.0 * std::expm1(2.0 * u * most) + 4.0 * u, floor);
    noise *= u;
  }

  int64_t dim;
  std::vector<double> score, y, bound;
  double spread = 0.0;  // of a score's terms
  double noise = 0.0;   // u * the length of (weight * value): what independent roundings leave

 private:
  void Finish(const AttentionProblem& problem, int64_t kv, double relative, double floor) {
    const double max = *std::max_element(score.begin(), score.end());
    double total = 0.0, squares = 0.0;
    for (const double s : score) total += std::exp(s - max);
    for (int64_t d = 0; d < dim; ++d) {
      double sum = 0.0, magnitude = 0.0, plain = 0.0;
      for (size_t i = 0; i < score.size(); ++i) {
        const double v = F16ToF32(problem.values[problem.KvAt(static_cast<int64_t>(i), kv, d)]);
        const double w = std::exp(score[i] - max);
        sum += w * v;
        magnitude += w * std::abs(v);
        plain += std::abs(v);
        squares += w * v * w * v;
      }
      y.push_back(sum / total);
      bound.push_back((relative * magnitude + floor * plain) / total);
    }
    noise = std::sqrt(squares / static_cast<double>(dim)) / total;
  }
};

// Each value within its bound, and the root mean square of a head's errors within the noise of its
// roundings: a key left out or met twice among thousands shows there.
inline void ExpectHeadIsExact(const AttentionProblem& problem, const std::vector<float>& y,
                              int64_t row, int64_t head, double u, double floor) {
  const AttentionExact exact(problem, row, head, u, floor);
  double squares = 0.0;
  for (int64_t d = 0; d < exact.dim; ++d) {
    const double value = y[problem.At(row, head, d)];
    const double off = std::abs(value - exact.y[static_cast<size_t>(d)]);
    ASSERT_TRUE(off <= exact.bound[static_cast<size_t>(d)])
        << problem.Text() << ": row " << row << ", head " << head << ", " << d << ": " << value
        << " for " << exact.y[static_cast<size_t>(d)];
    squares += off * off;
  }
  const double rms = std::sqrt(squares / static_cast<double>(exact.dim));
  ASSERT_TRUE(rms <= 2.0 * exact.noise * (1.0 + exact.spread))
      << problem.Text() << ": row " << row << ", head " << head << ": rms error " << rms
      << " beside noise " << exact.noise << ", spread " << exact.spread;
}

// All heads of some rows: first and last, those around tiles' edges, all where that is cheap.
inline void ExpectExact(const AttentionProblem& problem, const std::vector<float>& y, double u,
                        double floor) {
  ASSERT_EQ(y.size(), problem.q.size());
  for (const float v : y) ASSERT_TRUE(std::isfinite(v)) << problem.Text();
  const double work = static_cast<double>(problem.rows * problem.Width() * problem.Length());
  for (int64_t row = 0; row < problem.rows; ++row) {
    const int64_t edge = row % 64;
    const bool taken = work < 2e7 || row == 0 || row == problem.rows - 1 ||
                       (work < 4e8 && (edge == 0 || edge == 63));
    if (!taken) continue;
    for (int64_t head = 0; head < problem.shape.heads; ++head) {
      ExpectHeadIsExact(problem, y, row, head, u, floor);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

inline std::vector<uint32_t> BitsOf(const std::vector<float>& v) {
  std::vector<uint32_t> bits;
  for (const float x : v) bits.push_back(std::bit_cast<uint32_t>(x));
  return bits;
}

// "" or the first place where the bits differ.
inline std::string FirstOtherBits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return "unequal sizes";
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i])) {
      return "at " + std::to_string(i) + ": " + std::to_string(a[i]) + " and " +
             std::to_string(b[i]);
    }
  }
  return "";
}

// A problem on the device. Runs take rows [begin, end).
struct AttentionOnDevice {
  explicit AttentionOnDevice(const AttentionProblem& problem)
      : problem(problem),
        q(problem.q),
        keys(problem.keys),
        values(problem.values),
        positions(problem.positions) {}
  AttentionArgs Args(int64_t begin, int64_t end) const {
    AttentionArgs args;
    args.q = q.data() + begin * problem.Width();
    args.keys = keys.data();
    args.values = values.data();
    args.positions = positions.data() + begin;
    args.rows = end - begin;
    args.heads = problem.shape.heads;
    args.kv_heads = problem.shape.kv_heads;
    args.head_dim = problem.shape.head_dim;
    return args;
  }
  const AttentionProblem& problem;
  DeviceArray<float> q;
  DeviceArray<uint16_t> keys, values;
  DeviceArray<int32_t> positions;
};

}  // namespace fg::cuda
