#include "engine/tokenizer/unicode_class.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace fg {
namespace {

struct CodeRange {
  char32_t first, last;
};

#include "engine/tokenizer/unicode_ranges.inc"

template <size_t N>
constexpr bool Contains(const CodeRange (&ranges)[N], char32_t code) {
  const CodeRange* at =
      std::lower_bound(std::begin(ranges), std::end(ranges), code,
                       [](const CodeRange& range, char32_t value) { return range.last < value; });
  return at != std::end(ranges) && at->first <= code;
}

constexpr CodeClass Search(char32_t code) {
  if (code == '\r' || code == '\n') return CodeClass::kLineEnd;
  if (Contains(kLetters, code)) return CodeClass::kLetter;
  if (Contains(kNumbers, code)) return CodeClass::kNumber;
  return Contains(kSpaces, code) ? CodeClass::kSpace : CodeClass::kOther;
}

constexpr auto kAscii = [] {
  std::array<CodeClass, 128> table{};
  for (char32_t code = 0; code < table.size(); ++code) table[code] = Search(code);
  return table;
}();

}  // namespace

CodeClass ClassOf(char32_t code) { return code < kAscii.size() ? kAscii[code] : Search(code); }

}  // namespace fg
