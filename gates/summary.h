// A bundle as Markdown for a person: the verdict and its causes, the matrix as a table of words,
// every cell that did not pass, what is shared or does not apply, blind spots, and what was
// measured.
#pragma once

#include <string>
#include <vector>

#include "gates/bundle.h"

namespace flipgate {

std::string SummaryMarkdown(const Bundle& bundle);

// How a pair of kind and row ended: "pass", "FAIL", "pass, skipped", "shared with default", "not
// applicable", ...
std::string PairWord(const Bundle& bundle, const std::string& kind, const std::string& row);

// Kinds in the bundle's order.
std::vector<std::string> KindsOf(const Bundle& bundle);

}  // namespace flipgate
