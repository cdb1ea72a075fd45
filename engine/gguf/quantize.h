// Model variants: what `fg-engine quantize` does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace fg {

// "q4_k_m", "mixed", "q4_k_m_f32", "q4_0", "f16", "f32" (docs/gguf.md "Mixes").
std::vector<std::string> QuantizeMixes();

struct QuantizeSummary {
  uint64_t input_bytes = 0, output_bytes = 0;
  std::vector<std::pair<std::string, int>> tensors_per_type;  // ("q4_K", 33), by type id
  // "blk.0.ffn_down.weight: q4_K needs rows of 256; q5_0 used"
  std::vector<std::string> fallbacks;
};

// Reads INPUT, converts every 2-D weight by MIX, writes OUTPUT atomically. Deterministic: the same
// input and mix give the same bytes everywhere, whatever the number of threads. 1-D tensors become
// f32. A tensor that has its type already is copied. kUsage for an unknown mix (nearest name) and
// for OUTPUT being INPUT, kBadModel for INPUT (also for a value that is not finite, or beyond f16
// where the mix is not f32), kIo for either file.
Result<QuantizeSummary> QuantizeFile(const std::string& input, const std::string& output,
                                     std::string_view mix);

}  // namespace fg
