#include "engine/tokenizer/special_tokens.h"

#include <algorithm>

namespace fg {

SpecialTokens::SpecialTokens(std::vector<std::pair<std::string, int32_t>> tokens)
    : tokens_(std::move(tokens)) {
  std::sort(tokens_.begin(), tokens_.end());
  for (const auto& [spelling, id] : tokens_) leads_[static_cast<uint8_t>(spelling[0])] = true;
}

SpecialTokens::Hit SpecialTokens::Find(std::string_view text, size_t from) const {
  for (size_t begin = from; begin < text.size(); ++begin) {
    if (!leads_[static_cast<uint8_t>(text[begin])]) continue;
    const Hit hit = LongestAt(text, begin);
    if (hit.bytes != 0) return hit;
  }
  return {text.size(), 0, -1};
}

// Narrows the sorted spellings to those that agree with the text byte by byte. The first of those
// is the one that ends here, if any does.
SpecialTokens::Hit SpecialTokens::LongestAt(std::string_view text, size_t begin) const {
  Hit best{begin, 0, -1};
  auto low = tokens_.begin(), high = tokens_.end();
  for (size_t depth = 0; begin + depth < text.size(); ++depth) {
    const uint8_t byte = static_cast<uint8_t>(text[begin + depth]);
    const auto at = [depth](const auto& token) { return static_cast<uint8_t>(token.first[depth]); };
    low = std::partition_point(low, high, [&](const auto& token) {
      return token.first.size() <= depth || at(token) < byte;
    });
    high = std::partition_point(low, high, [&](const auto& token) { return at(token) == byte; });
    if (low == high) break;
    if (low->first.size() == depth + 1) best = {begin, depth + 1, low->second};
  }
  return best;
}

}  // namespace fg
