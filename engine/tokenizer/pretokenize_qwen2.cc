#include "engine/tokenizer/pretokenize_qwen2.h"

#include <cstddef>

#include "engine/tokenizer/unicode_class.h"
#include "engine/tokenizer/utf8.h"

namespace fg {
namespace {

struct Character {
  size_t begin, end;  // bytes of the text
  char32_t code;
  CodeClass kind;
};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  uint64_t decoded() const { return decoded_; }

  // The end of the part that begins at `begin`, which is before the end of the text. The branches
  // stand in the order of the pattern's alternatives: the first that matches wins.
  size_t PartEnd(size_t begin) {
    const Character first = At(begin);
    if (first.code == '\'') {
      if (const size_t end = ContractionEnd(first); end != 0) return end;
    }
    if (first.kind == CodeClass::kLetter) return RunEnd(first.end, CodeClass::kLetter);
    if (first.kind == CodeClass::kNumber) return first.end;
    if (first.kind == CodeClass::kLineEnd) return SpaceEnd(first);
    if (first.end == text_.size()) return first.end;
    const Character second = At(first.end);
    if (second.kind == CodeClass::kLetter) return RunEnd(second.end, CodeClass::kLetter);
    if (first.kind == CodeClass::kOther) return SymbolsEnd(first.end);
    if (first.code == ' ' && second.kind == CodeClass::kOther) return SymbolsEnd(second.end);
    return SpaceEnd(first);
  }

 private:
  Character At(size_t begin) {
    ++decoded_;
    const Utf8Unit unit = NextUtf8(text_.substr(begin));
    if (unit.kind == Utf8Unit::kValid) {
      return {begin, begin + unit.bytes, unit.code, ClassOf(unit.code)};
    }
    return {begin, begin + 1, unit.code, CodeClass::kOther};
  }

  // 's 't 're 've 'm 'll 'd, ignoring case; 0 where none follows. U+017F folds to s.
  size_t ContractionEnd(const Character& quote) {
    if (quote.end == text_.size()) return 0;
    const Character one = At(quote.end);
    const char32_t letter = Lower(one.code);
    if (letter == 's' || letter == 't' || letter == 'm' || letter == 'd') return one.end;
    if ((letter != 'r' && letter != 'v' && letter != 'l') || one.end == text_.size()) return 0;
    const Character two = At(one.end);
    return Lower(two.code) == (letter == 'l' ? U'l' : U'e') ? two.end : 0;
  }

  static char32_t Lower(char32_t code) {
    if (code == 0x17F) return 's';
    return code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code;
  }

  // The end of the characters of one kind from `at` on.
  size_t RunEnd(size_t at, CodeClass kind) {
    while (at < text_.size()) {
      const Character next = At(at);
      if (next.kind != kind) break;
      at = next.end;
    }
    return at;
  }

  // The rest of `[^\s\p{L}\p{N}]+[\r\n]*`.
  size_t SymbolsEnd(size_t at) {
    return RunEnd(RunEnd(at, CodeClass::kOther), CodeClass::kLineEnd);
  }

  // The last three alternatives: spaces up to the last line end among them; else all of them at the
  // end of the text; else all but the last, which begins the next part; else the only one.
  size_t SpaceEnd(const Character& first) {
    size_t last_begin = first.begin;
    size_t end = first.end;
    size_t line_end = first.kind == CodeClass::kLineEnd ? first.end : 0;
    while (end < text_.size()) {
      const Character next = At(end);
      if (!IsSpace(next.kind)) break;
      last_begin = next.begin;
      end = next.end;
      if (next.kind == CodeClass::kLineEnd) line_end = next.end;
    }
    if (line_end != 0) return line_end;
    if (end == text_.size() || last_begin == first.begin) return end;
    return last_begin;
  }

  std::string_view text_;
  uint64_t decoded_ = 0;
};

}  // namespace

std::vector<std::string_view> PretokenizeQwen2(std::string_view text, uint64_t* decoded) {
  std::vector<std::string_view> parts;
  Scanner scanner(text);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = scanner.PartEnd(begin);
    parts.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  if (decoded != nullptr) *decoded += scanner.decoded();
  return parts;
}

}  // namespace fg
