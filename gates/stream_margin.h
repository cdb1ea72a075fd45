// Greedy streams of two ways of computing the same: equal where the first of them is sure of its
// token, reported where it is not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "gates/streams.h"

namespace flipgate {

struct MarginComparison {
  int64_t bound = 0;  // tokens whose margin bound them, and that are equal
  int64_t free = 0;   // steps whose margin did not
  bool bitwise = true;
  std::optional<std::string> fault;
  // {"bitwise", "bound", "free"} and, where some logits differ, "first_different": {"prompt",
  // "step", "margin", "limit", "tokens": [a, b]} of the first step that does.
  fg::Json figures;
};

// A token of `a` must be that of `b` where the margin of b's top two exceeds `share` of the larger
// magnitude of the two. Behind tokens that differ a stream is compared no further. Streams are held
// in their order; another number of them, other prompts or lengths are a fault.
MarginComparison CompareByMargin(const std::vector<Stream>& a, const std::string& a_name,
                                 const std::vector<Stream>& b, const std::string& b_name,
                                 double share);

}  // namespace flipgate
