// UTF-8 that may be anything: one code point at a time.
#pragma once

#include <cstdint>
#include <string_view>

namespace fg {

struct Utf8Unit {
  enum Kind : uint8_t {
    kValid,    // a code point of `bytes` bytes
    kInvalid,  // `bytes` bytes can never be part of a code point: a maximal subpart (WHATWG)
    kCut,      // the text ends after `bytes` bytes that begin a code point
  };
  Kind kind;
  uint8_t bytes;  // 1 to 4
  char32_t code;  // U+FFFD unless valid
};

// The unit at the start of `text`, which is not empty. Overlong forms, surrogates and code points
// beyond U+10FFFF are invalid.
Utf8Unit NextUtf8(std::string_view text);

// U+FFFD in UTF-8.
inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace fg
