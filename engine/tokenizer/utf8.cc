#include "engine/tokenizer/utf8.h"

namespace fg {
namespace {

// What a lead byte promises; length 0: it leads nothing. Only the byte after it has bounds of its
// own (table 3-7 of the Unicode standard).
struct Lead {
  uint8_t length, low, high, bits;
};

constexpr Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0, byte};
  if (byte < 0xC2) return {0, 0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF, static_cast<uint8_t>(byte & 0x1F)};
  if (byte < 0xF0) {
    return {3, static_cast<uint8_t>(byte == 0xE0 ? 0xA0 : 0x80),
            static_cast<uint8_t>(byte == 0xED ? 0x9F : 0xBF), static_cast<uint8_t>(byte & 0x0F)};
  }
  if (byte > 0xF4) return {0, 0, 0, 0};
  return {4, static_cast<uint8_t>(byte == 0xF0 ? 0x90 : 0x80),
          static_cast<uint8_t>(byte == 0xF4 ? 0x8F : 0xBF), static_cast<uint8_t>(byte & 0x07)};
}

}  // namespace

Utf8Unit NextUtf8(std::string_view text) {
  constexpr char32_t kNone = 0xFFFD;
  const Lead lead = LeadOf(static_cast<uint8_t>(text[0]));
  if (lead.length == 0) return {Utf8Unit::kInvalid, 1, kNone};
  char32_t code = lead.bits;
  uint8_t low = lead.low, high = lead.high;
  for (uint8_t i = 1; i < lead.length; ++i) {
    if (i == text.size()) return {Utf8Unit::kCut, i, kNone};
    const uint8_t byte = static_cast<uint8_t>(text[i]);
    if (byte < low || byte > high) return {Utf8Unit::kInvalid, i, kNone};
    code = code << 6 | (byte & 0x3F);
    low = 0x80;
    high = 0xBF;
  }
  return {Utf8Unit::kValid, lead.length, code};
}

}  // namespace fg
