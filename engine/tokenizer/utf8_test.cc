#include "engine/tokenizer/utf8.h"

#include <gtest/gtest.h>

#include "engine/tokenizer/tokenizer_testing.h"

namespace fg {
namespace {

TEST(Utf8, EveryCodePointIsReadBack) {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    const std::string text = ToUtf8(code) + "\x80";
    const Utf8Unit unit = NextUtf8(text);
    ASSERT_EQ(unit.kind, Utf8Unit::kValid) << std::hex << static_cast<uint32_t>(code);
    ASSERT_EQ(unit.code, code);
    ASSERT_EQ(unit.bytes, text.size() - 1);
    for (size_t size = 1; size < unit.bytes; ++size) {
      const Utf8Unit cut = NextUtf8(std::string_view(text).substr(0, size));
      ASSERT_EQ(cut.kind, Utf8Unit::kCut) << std::hex << static_cast<uint32_t>(code);
      ASSERT_EQ(cut.bytes, size);
    }
  }
}

// The examples of the Unicode standard, section 3.9, and the edges of table 3-7.
TEST(Utf8, InvalidBytesAreMaximalSubparts) {
  const std::pair<const char*, int> cases[] = {
      {"\x80z", 1},         {"\xBFz", 1},         {"\xC0\x80z", 1},     {"\xC1\xBFz", 1},
      {"\xC2z", 1},         {"\xE0\x80z", 1},     {"\xE0\x9Fz", 1},     {"\xE0\xA0z", 2},
      {"\xE1\x80z", 2},     {"\xED\xA0\x80z", 1}, {"\xED\x9Fz", 2},     {"\xEF\xBFz", 2},
      {"\xF0\x8Fz", 1},     {"\xF0\x90z", 2},     {"\xF0\x90\x80z", 3}, {"\xF4\x8F\xBFz", 3},
      {"\xF4\x90\x80z", 1}, {"\xF5\x80z", 1},     {"\xFFz", 1},         {"\xE1\x80\xE1z", 2},
  };
  for (const auto& [text, bytes] : cases) {
    const Utf8Unit unit = NextUtf8(text);
    EXPECT_EQ(unit.kind, Utf8Unit::kInvalid) << text;
    EXPECT_EQ(unit.bytes, bytes) << text;
    EXPECT_EQ(unit.code, 0xFFFDu) << text;
  }
}

TEST(Utf8, TheReplacementIsUFFFD) { EXPECT_EQ(kReplacement, ToUtf8(0xFFFD)); }

}  // namespace
}  // namespace fg
