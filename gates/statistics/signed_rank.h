// Location of a sample of differences without an assumption on their distribution but symmetry:
// the Hodges-Lehmann estimate and the exact interval of Wilcoxon's signed rank (Hollander & Wolfe,
// Nonparametric Statistical Methods, ch. 3; docs/statistics.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace flipgate {

struct Interval {
  double low = 0, high = 0;
  bool Below(double x) const { return high < x; }
  bool Above(double x) const { return low > x; }
  bool Within(double bound) const { return low > -bound && high < bound; }
};

// Most values that the exact distribution is computed for: its counts, at most 2^n, stay exact in
// 64 bits.
constexpr int kMostSignedRankValues = 62;

// How many of the 2^n sign patterns give each rank sum 0..n(n+1)/2. 0 <= n <=
// kMostSignedRankValues.
std::vector<uint64_t> SignedRankCounts(int n);

// The averages (x_i + x_j)/2, i <= j, ascending: n(n+1)/2 of them.
std::vector<double> WalshAverages(std::span<const double> values);

// Median of the Walsh averages. At least one value, all finite.
double HodgesLehmann(std::span<const double> values);

// The two-sided interval whose coverage is at least `confidence` (in (0, 1)): the k-th smallest and
// the k-th largest Walsh average, k the largest with 2 P(T+ < k) <= 1 - confidence. Nothing where n
// is too small for the confidence. With ties the coverage is larger, never smaller.
std::optional<Interval> SignedRankInterval(std::span<const double> values, double confidence);

}  // namespace flipgate
