#include "engine/tokenizer/unicode_class.h"

#include <gtest/gtest.h>

namespace fg {
namespace {

TEST(UnicodeClass, KnownCodePoints) {
  const std::pair<char32_t, CodeClass> cases[] = {
      {'a', CodeClass::kLetter},
      {'Z', CodeClass::kLetter},
      {'@', CodeClass::kOther},
      {'_', CodeClass::kOther},
      {'0', CodeClass::kNumber},
      {' ', CodeClass::kSpace},
      {'\t', CodeClass::kSpace},
      {'\v', CodeClass::kSpace},
      {'\n', CodeClass::kLineEnd},
      {'\r', CodeClass::kLineEnd},
      {0x00, CodeClass::kOther},
      {0x1C, CodeClass::kOther},
      {0x7F, CodeClass::kOther},
      {0x85, CodeClass::kSpace},
      {0xA0, CodeClass::kSpace},
      {0xB2, CodeClass::kNumber},
      {0xB5, CodeClass::kLetter},
      {0xD7, CodeClass::kOther},
      {0x0301, CodeClass::kOther},
      {0x0661, CodeClass::kNumber},
      {0x0E17, CodeClass::kLetter},
      {0x0E35, CodeClass::kOther},
      {0x200B, CodeClass::kOther},
      {0x2028, CodeClass::kSpace},
      {0x2167, CodeClass::kNumber},
      {0x3000, CodeClass::kSpace},
      {0x4E2D, CodeClass::kLetter},
      {0xAC00, CodeClass::kLetter},
      {0xFEFF, CodeClass::kOther},
      {0x1F408, CodeClass::kOther},
      {0x20000, CodeClass::kLetter},
      {0x10FFFF, CodeClass::kOther},
      // New in Unicode 16.0: a Garay letter and a Garay digit.
      {0x10D4A, CodeClass::kLetter},
      {0x10D40, CodeClass::kNumber},
  };
  for (const auto& [code, expected] : cases) {
    EXPECT_EQ(ClassOf(code), expected) << "U+" << std::hex << static_cast<uint32_t>(code);
  }
}

// Sizes of the classes in Unicode 16.0: a lost or doubled range would change them.
TEST(UnicodeClass, EveryClassHasItsSize) {
  int count[5] = {};
  for (char32_t code = 0; code <= 0x10FFFF; ++code) ++count[static_cast<int>(ClassOf(code))];
  EXPECT_EQ(count[static_cast<int>(CodeClass::kLetter)], 141028);
  EXPECT_EQ(count[static_cast<int>(CodeClass::kNumber)], 1911);
  EXPECT_EQ(count[static_cast<int>(CodeClass::kSpace)], 23);
  EXPECT_EQ(count[static_cast<int>(CodeClass::kLineEnd)], 2);
}

}  // namespace
}  // namespace fg
