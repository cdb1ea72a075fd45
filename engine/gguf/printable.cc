#include "engine/gguf/printable.h"

#include <cstddef>

namespace fg {

std::string Printable(std::string_view text) {
  constexpr size_t kShown = 64;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "'";
  for (const char c : text.substr(0, kShown)) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7E || c == '\'' || c == '\\') {
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
  out += "'";
  if (text.size() > kShown) out += "...";
  return out;
}

}  // namespace fg
