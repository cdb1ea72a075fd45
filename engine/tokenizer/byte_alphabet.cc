#include "engine/tokenizer/byte_alphabet.h"

#include <array>

#include "engine/tokenizer/utf8.h"

namespace fg {
namespace {

constexpr int kMoved = 68;  // bytes that do not stand for themselves

constexpr bool StandsForItself(int byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

struct Alphabet {
  std::array<char32_t, 256> letter{};
  std::array<int16_t, 256 + kMoved> byte{};  // -1: no letter
};

constexpr Alphabet kAlphabet = [] {
  Alphabet alphabet;
  for (int16_t& byte : alphabet.byte) byte = -1;
  char32_t next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t letter = StandsForItself(byte) ? static_cast<char32_t>(byte) : next++;
    alphabet.letter[byte] = letter;
    alphabet.byte[letter] = static_cast<int16_t>(byte);
  }
  return alphabet;
}();

}  // namespace

std::string ByteToLetter(uint8_t byte) {
  const char32_t letter = kAlphabet.letter[byte];  // below U+0144: two bytes at most
  if (letter < 0x80) return std::string(1, static_cast<char>(letter));
  return {static_cast<char>(0xC0 | letter >> 6), static_cast<char>(0x80 | (letter & 0x3F))};
}

std::optional<std::string> LettersToBytes(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const Utf8Unit unit = NextUtf8(text);
    if (unit.kind != Utf8Unit::kValid || unit.code >= kAlphabet.byte.size()) return std::nullopt;
    const int16_t byte = kAlphabet.byte[unit.code];
    if (byte < 0) return std::nullopt;
    bytes += static_cast<char>(byte);
    text.remove_prefix(unit.bytes);
  }
  return bytes;
}

}  // namespace fg
