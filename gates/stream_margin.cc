#include "gates/stream_margin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace flipgate {
namespace {

struct Step {
  double margin = 0, limit = 0;
};

Step StepOf(const Stream& stream, size_t step, double share) {
  const auto& top = stream.top[step];
  return {top[0] - top[1], share * std::max(std::abs(top[0]), std::abs(top[1]))};
}

// One pair of streams; false where a fault ended it.
bool HoldStream(const Stream& a, const std::string& a_name, const Stream& b,
                const std::string& b_name, double share, MarginComparison* result) {
  if (a.prompt != b.prompt || a.prompt_tokens != b.prompt_tokens ||
      a.tokens.size() != b.tokens.size() || a.tokens.empty()) {
    result->fault = fmt::format(
        "prompt '{}': {} and {} were not asked the same, or gave other "
        "numbers of tokens ({}, {})",
        b.prompt, a_name, b_name, a.tokens.size(), b.tokens.size());
    return false;
  }
  for (size_t step = 0; step < a.tokens.size(); ++step) {
    const Step at = StepOf(b, step, share);
    if (a.digests[step] != b.digests[step] && result->bitwise) {
      result->bitwise = false;
      result->figures["first_different"] = {{"prompt", b.prompt},
                                            {"step", step},
                                            {"margin", at.margin},
                                            {"limit", at.limit},
                                            {"tokens", {a.tokens[step], b.tokens[step]}}};
    }
    const bool bound = !(at.margin <= at.limit);  // a NaN binds
    if (a.tokens[step] == b.tokens[step]) {
      ++(bound ? result->bound : result->free);
      continue;
    }
    if (!bound) {
      ++result->free;
      return true;
    }
    result->fault = fmt::format(
        "prompt '{}', step {}: {} chose token {}, {} token {} by a margin of {:.6g}, above {:.6g}",
        b.prompt, step, a_name, a.tokens[step], b_name, b.tokens[step], at.margin, at.limit);
    return false;
  }
  return true;
}

}  // namespace

MarginComparison CompareByMargin(const std::vector<Stream>& a, const std::string& a_name,
                                 const std::vector<Stream>& b, const std::string& b_name,
                                 double share) {
  MarginComparison result;
  result.figures = fg::Json::object();
  if (a.empty() || a.size() != b.size())
    result.fault =
        fmt::format("{} gave {} streams, {} gave {}", a_name, a.size(), b_name, b.size());
  for (size_t i = 0; i < a.size() && !result.fault; ++i) {
    if (!HoldStream(a[i], a_name, b[i], b_name, share, &result)) break;
  }
  result.figures["bitwise"] = result.bitwise;
  result.figures["bound"] = result.bound;
  result.figures["free"] = result.free;
  return result;
}

}  // namespace flipgate
