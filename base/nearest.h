// "Did you mean": the nearest known word for a misspelt one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fg {

// Edit distance with adjacent transpositions (optimal string alignment), case ignored.
int EditDistance(std::string_view a, std::string_view b);

// The candidate nearest to `word`, or nothing when none lies within a third of its length (at
// least 2 edits). Ties go to the candidate listed first.
std::optional<std::string> Nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

// "; did you mean 'X'?" or "" - to append to an error message.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace fg
