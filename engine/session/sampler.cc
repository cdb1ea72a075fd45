#include "engine/session/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "engine/backend/argmax.h"

namespace fg {
namespace {

bool Above(const std::pair<int32_t, float>& a, const std::pair<int32_t, float>& b) {
  return a.second > b.second || (a.second == b.second && a.first < b.first);
}

// 2^n, n in the range of normal numbers.
double PowerOfTwo(int n) { return std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52); }

// The candidates, highest first where an option cuts the list, else by id.
std::vector<std::pair<int32_t, float>> Candidates(std::span<const float> logits,
                                                  const SamplingOptions& options) {
  if (options.top_k > 0) return Highest(logits, options.top_k);
  if (options.top_p < 1) return Highest(logits, logits.size());
  std::vector<std::pair<int32_t, float>> all;
  for (size_t id = 0; id < logits.size(); ++id) {
    all.emplace_back(static_cast<int32_t>(id), logits[id]);
  }
  return all;
}

}  // namespace

double ExpF64(double x) {
  if (x < -700.0) return 0.0;
  const double n = std::rint(x * 0x1.71547652b82fep+0);
  double r = std::fma(-n, 0x1.62e42fefa39efp-1, x);
  r = std::fma(-n, 0x1.abc9e3b39803fp-56, r);
  double sum = 1.0;
  for (int degree = 14; degree >= 1; --degree) sum = std::fma(sum, r / degree, 1.0);
  return sum * PowerOfTwo(static_cast<int>(n));
}

uint64_t SplitMix64::Next() {
  uint64_t z = state_ += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

double SplitMix64::NextUnit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

std::optional<int32_t> Greedy(std::span<const float> logits) {
  const int32_t best = HighestId(logits);
  return best < 0 ? std::nullopt : std::make_optional(best);
}

std::vector<std::pair<int32_t, float>> Highest(std::span<const float> logits, size_t count) {
  std::vector<std::pair<int32_t, float>> all;
  for (size_t id = 0; id < logits.size(); ++id) {
    if (!std::isnan(logits[id])) all.emplace_back(static_cast<int32_t>(id), logits[id]);
  }
  count = std::min(count, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                    Above);
  all.resize(count);
  return all;
}

Result<int32_t> Sample(std::span<const float> logits, const SamplingOptions& options, double draw) {
  float max = -std::numeric_limits<float>::infinity();
  for (const float logit : logits) {
    if (std::isnan(logit) || logit == std::numeric_limits<float>::infinity()) {
      return Status(ErrorKind::kInternal,
                    "the logits hold NaN or infinity; nothing can be sampled");
    }
    max = std::max(max, logit);
  }
  if (max == -std::numeric_limits<float>::infinity()) {
    return Status(ErrorKind::kInternal, "all logits are -infinity; nothing can be sampled");
  }
  std::vector<std::pair<int32_t, float>> candidates = Candidates(logits, options);
  std::vector<double> weights;
  for (const auto& [id, logit] : candidates) {
    const double distance = static_cast<double>(logit) - static_cast<double>(max);
    weights.push_back(ExpF64(distance / options.temperature));
  }
  double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (options.top_p < 1) {
    // The shortest head of the list that holds top_p of what top_k left.
    double head = 0;
    size_t kept = 0;
    while (kept < weights.size() && (kept == 0 || head < options.top_p * total)) {
      head += weights[kept++];
    }
    weights.resize(kept);
    total = head;
  }
  double rest = draw * total;
  for (size_t i = 0; i < weights.size(); ++i) {
    rest -= weights[i];
    if (rest < 0) return candidates[i].first;
  }
  // Rounding left a crumb: the last candidate that has any weight.
  size_t last = weights.size() - 1;
  while (last > 0 && weights[last] == 0) --last;
  return candidates[last].first;
}

Status CheckSampling(const SamplingOptions& options) {
  const auto bad = [](const char* field, double value, const char* expected) {
    return Status(ErrorKind::kBadRequest,
                  std::string(field) + " is " + std::to_string(value) + "; expected " + expected);
  };
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature)) {
    return bad("temperature", options.temperature, "a finite number, 0 or more");
  }
  if (options.top_k < 0) return bad("top_k", options.top_k, "0 for all, or more");
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    return bad("top_p", options.top_p, "a number above 0, up to 1");
  }
  return Status::Ok();
}

}  // namespace fg
