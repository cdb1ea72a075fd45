#include "engine/tokenizer/byte_alphabet.h"

#include <gtest/gtest.h>

#include <set>

namespace fg {
namespace {

TEST(ByteAlphabet, KnownLetters) {
  EXPECT_EQ(ByteToLetter('a'), "a");
  EXPECT_EQ(ByteToLetter('~'), "~");
  EXPECT_EQ(ByteToLetter(' '), "\u0120");
  EXPECT_EQ(ByteToLetter('\n'), "\u010A");
  EXPECT_EQ(ByteToLetter(0x00), "\u0100");
  EXPECT_EQ(ByteToLetter(0x7F), "\u0121");
  EXPECT_EQ(ByteToLetter(0xA0), "\u0142");
  EXPECT_EQ(ByteToLetter(0xA1), "\u00A1");
  EXPECT_EQ(ByteToLetter(0xAD), "\u0143");
  EXPECT_EQ(ByteToLetter(0xFF), "\u00FF");
}

TEST(ByteAlphabet, EveryByteHasALetterOfItsOwn) {
  std::set<std::string> letters;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string letter = ByteToLetter(static_cast<uint8_t>(byte));
    EXPECT_TRUE(letters.insert(letter).second) << byte;
    EXPECT_EQ(LettersToBytes(letter), std::string(1, static_cast<char>(byte))) << byte;
  }
}

TEST(ByteAlphabet, OtherCharactersStandForNothing) {
  EXPECT_EQ(LettersToBytes(""), "");
  EXPECT_EQ(LettersToBytes("\u0120the"), " the");
  for (const char* text :
       {" ", "a b", "\n", "\x7F", "\u00A0", "\u00AD", "\u0144", "\u4E2D", "\xFF", "a\xC4"}) {
    EXPECT_EQ(LettersToBytes(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace fg
