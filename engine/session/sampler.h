// From logits to a token: the same logits, options and draw give the same token on every machine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/session/generate.h"

namespace fg {

// e^x in double, x <= 0: Cody-Waite reduction and a Taylor series in fma form, so that no libm
// decides over a token. 0 below -700.
double ExpF64(double x);

// splitmix64 (Steele, Lea, Flood 2014): 64 bits of state, the seed.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  double NextUnit();  // in [0, 1), a multiple of 2^-53

 private:
  uint64_t state_;
};

// The id of the highest logit, the lowest among equals, NaN passed over; nothing when all are NaN.
std::optional<int32_t> Greedy(std::span<const float> logits);

// The `count` highest, descending, equal ones by ascending id, NaN passed over.
std::vector<std::pair<int32_t, float>> Highest(std::span<const float> logits, size_t count);

// The token at `draw` (in [0, 1)) of the distribution exp((logit - max) / temperature), after top_k
// and top_p. kInternal for a NaN or +infinity.
Result<int32_t> Sample(std::span<const float> logits, const SamplingOptions& options, double draw);

// kBadRequest names the field: temperature (finite, >= 0), top_k (>= 0), top_p (in (0, 1]).
Status CheckSampling(const SamplingOptions& options);

}  // namespace fg
