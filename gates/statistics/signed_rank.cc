#include "gates/statistics/signed_rank.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace flipgate {

std::vector<uint64_t> SignedRankCounts(int n) {
  assert(n >= 0 && n <= kMostSignedRankValues);
  std::vector<uint64_t> counts(static_cast<size_t>(n) * (n + 1) / 2 + 1, 0);
  counts[0] = 1;
  size_t top = 0;
  // Rank r joins the sum or does not.
  for (int rank = 1; rank <= n; ++rank) {
    top += rank;
    for (size_t sum = top; sum >= static_cast<size_t>(rank); --sum)
      counts[sum] += counts[sum - rank];
  }
  return counts;
}

std::vector<double> WalshAverages(std::span<const double> values) {
  std::vector<double> averages;
  averages.reserve(values.size() * (values.size() + 1) / 2);
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = i; j < values.size(); ++j) averages.push_back((values[i] + values[j]) / 2);
  }
  std::sort(averages.begin(), averages.end());
  return averages;
}

double HodgesLehmann(std::span<const double> values) {
  assert(!values.empty());
  const std::vector<double> averages = WalshAverages(values);
  const size_t middle = averages.size() / 2;
  if (averages.size() % 2 == 1) return averages[middle];
  return (averages[middle - 1] + averages[middle]) / 2;
}

std::optional<Interval> SignedRankInterval(std::span<const double> values, double confidence) {
  const int n = static_cast<int>(values.size());
  if (n < 1 || n > kMostSignedRankValues) return std::nullopt;
  const std::vector<uint64_t> counts = SignedRankCounts(n);
  // As a share of the 2^n patterns, one tail.
  const double tail = std::ldexp((1 - confidence) / 2, n);
  double below = 0;  // patterns with T+ < k
  size_t k = 0;
  while (k < counts.size() && below + static_cast<double>(counts[k]) <= tail) {
    below += static_cast<double>(counts[k]);
    ++k;
  }
  if (k == 0) return std::nullopt;
  const std::vector<double> averages = WalshAverages(values);
  // Beyond the middle the two ends would change places.
  if (2 * k > averages.size()) k = (averages.size() + 1) / 2;
  return Interval{averages[k - 1], averages[averages.size() - k]};
}

}  // namespace flipgate
