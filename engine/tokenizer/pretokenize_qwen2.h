// The qwen2 pre-tokenizer: the text cut into the parts within which merges happen, as the pattern
//
//   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*
//   |\s*[\r\n]+|\s+(?!\S)|\s+
//
// cuts it, but by a scanner whose stack does not grow and whose time is linear. The pattern matches
// any text without a gap, so the parts joined are the text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace fg {

// Parts of `text`, in order, none empty. A byte that is no UTF-8 counts as one character that is
// neither letter, number nor space. `decoded`, where given, is raised by the characters looked at.
std::vector<std::string_view> PretokenizeQwen2(std::string_view text, uint64_t* decoded = nullptr);

}  // namespace fg
