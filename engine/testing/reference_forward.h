// A qwen2 forward in float64, written from docs/gguf.md and the model's definition and not from the
// engine: no cache, no graph, no kernels, weights dequantized without rounding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/gguf/gguf.h"

namespace fg::testing {

// Logits of every token, [tokens][vocabulary].
std::vector<std::vector<double>> ReferenceForward(const GgufFile& file,
                                                  std::span<const int32_t> tokens);

}  // namespace fg::testing
