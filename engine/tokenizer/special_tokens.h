// Tokens that are spelt in the text and not made by merges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fg {

class SpecialTokens {
 public:
  struct Hit {
    size_t begin, bytes;  // of the text; bytes 0: none
    int32_t id;
  };

  SpecialTokens() = default;
  // Spellings and ids; no spelling is empty or occurs twice.
  explicit SpecialTokens(std::vector<std::pair<std::string, int32_t>> tokens);

  // The leftmost token in text[from ..], and of those that begin there the longest.
  Hit Find(std::string_view text, size_t from) const;

 private:
  Hit LongestAt(std::string_view text, size_t begin) const;

  std::vector<std::pair<std::string, int32_t>> tokens_;  // by spelling
  bool leads_[256] = {};                                 // first bytes of spellings
};

}  // namespace fg
