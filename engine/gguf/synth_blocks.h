// Random weights written straight in a tensor's own format. docs/gguf.md "Synthetic models".
#pragma once

#include <cstdint>

#include "kernels/formats/tensor_type.h"

namespace fg {

// Random numbers of 64 bits; the same seed gives the same ones everywhere (SplitMix64).
class SynthRandom {
 public:
  explicit SynthRandom(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

// A seed of its own for each (seed, tensor, piece).
uint64_t SynthStream(uint64_t seed, uint64_t tensor, uint64_t piece);

// Writes `blocks` blocks of `type` to `out`: finite values around 0 with about `deviation` as their
// standard deviation. False for a type that no mix of `quantize` gives.
bool SynthBlocks(TensorType type, float deviation, SynthRandom random, int64_t blocks, void* out);

// values[n] = centre + spread * a number in [-1, 1).
void SynthValues(float centre, float spread, SynthRandom random, int64_t n, float* values);

}  // namespace fg
