// attention.h twice over: its contract in the plainest C++, and exact double.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/attention.h"

namespace fg {

// Every row and head of args, in order.
void AttentionContract(const AttentionArgs& args);

// y [rows][heads][head_dim] in double, with the bound of the contract's error for finite scores: a
// score is off by at most e = (head_dim/16 + 8) * 2^-24 * scale * sum|q*key|, a weight by the
// factor 1 +- (2e + (4 + max - min of the scores) * 2^-24), and the sums over positions by (seen +
// 8) * 2^-24.
struct AttentionExactResult {
  std::vector<double> y;
  std::vector<double> bound;
};
AttentionExactResult AttentionExact(const AttentionArgs& args);

}  // namespace fg
