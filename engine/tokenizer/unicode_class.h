// What the pre-tokenizer asks of a code point. Unicode 16.0, as unicode_ranges.inc says.
#pragma once

#include <cstdint>

namespace fg {

enum class CodeClass : uint8_t {
  kOther,   // everything else: punctuation, symbols, marks, bytes that are no UTF-8
  kLetter,  // \p{L}
  kNumber,  // \p{N}
  kSpace,   // \s but for the two line ends
  kLineEnd  // \r and \n
};

CodeClass ClassOf(char32_t code);

inline bool IsSpace(CodeClass c) { return c == CodeClass::kSpace || c == CodeClass::kLineEnd; }

}  // namespace fg
