#include <gtest/gtest.h>

#include "engine/tokenizer/tokenizer_testing.h"

namespace fg {
namespace {

class StreamDecoderTest : public testing::Test {
 protected:
  StreamDecoderTest() : tokenizer_(std::move(TokenizerOf(SmallVocabulary().Writer())).value()) {}

  // Id by id; every answer must be whole characters: none may begin with a continuation byte or
  // end inside a character.
  std::string Stream(const std::vector<int32_t>& ids) const {
    StreamDecoder decoder(tokenizer_);
    std::string out;
    for (const int32_t id : ids) {
      const std::string piece = decoder.Push(id);
      if (!piece.empty()) {
        EXPECT_NE(static_cast<unsigned char>(piece[0]) & 0xC0, 0x80) << "id " << id;
      }
      out += piece;
    }
    return out + decoder.Finish();
  }

  // Bytes as ids of their own: the finest cut there is.
  static std::vector<int32_t> Bytes(std::string_view text) {
    std::vector<int32_t> ids;
    for (const char byte : text) ids.push_back(static_cast<uint8_t>(byte));
    return ids;
  }

  const Tokenizer tokenizer_;
};

// A cat, a flag of two halves, a family held together by joiners, Thai with marks.
const char* const kTexts[] = {"\U0001F408", "\U0001F1EB\U0001F1F7",
                              "\U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466",
                              "\u0E17\u0E35\u0E48\u0E19\u0E35\u0E48", "caf\u00E9 \u4F60\u597D"};

TEST_F(StreamDecoderTest, CharactersOverSeveralTokensComeWhole) {
  for (const char* text : kTexts) {
    EXPECT_EQ(Stream(tokenizer_.Encode(text)), text);
    EXPECT_EQ(Stream(Bytes(text)), text);
  }
}

TEST_F(StreamDecoderTest, ACharacterComesWithItsLastByte) {
  StreamDecoder decoder(tokenizer_);
  EXPECT_EQ(decoder.Push(262 + 2), "");  // F0 9F 90
  EXPECT_EQ(decoder.Push(0x88), "\U0001F408");
  EXPECT_EQ(decoder.Push('a'), "a");
  EXPECT_EQ(decoder.Finish(), "");
}

TEST_F(StreamDecoderTest, ACutCharacterBecomesOneReplacement) {
  for (const char* text : kTexts) {
    std::vector<int32_t> ids = Bytes(text);
    while (ids.size() > 1) {
      ids.pop_back();
      // The bytes up to the last whole character, then one U+FFFD if a part of one is left.
      size_t whole = ids.size();
      while (whole > 0 && (static_cast<unsigned char>(text[whole]) & 0xC0) == 0x80) --whole;
      const std::string tail = whole < ids.size() ? "\uFFFD" : "";
      EXPECT_EQ(Stream(ids), std::string(text, whole) + tail) << text << " " << ids.size();
    }
  }
}

TEST_F(StreamDecoderTest, InvalidBytesBecomeOneReplacementPerMaximalSubpart) {
  const std::pair<const char*, const char*> cases[] = {
      {"\xFF", "\uFFFD"},
      {"a\x80z", "a\uFFFDz"},
      {"\xC3(", "\uFFFD("},
      {"\xE4\xBDz", "\uFFFDz"},
      {"\xF0\x9F\x90z", "\uFFFDz"},
      {"\xF0\x9F\xF0\x9F\x90\x88", "\uFFFD\U0001F408"},
      {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},
      {"\xC0\x80", "\uFFFD\uFFFD"},
      // The example of the Unicode standard, table 3-11.
      {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", "\uFFFD\uFFFD\uFFFD\uFFFDA"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Stream(Bytes(text)), expected);
}

TEST_F(StreamDecoderTest, ControlTokensAreSilentAndKeepAPartHeld) {
  StreamDecoder decoder(tokenizer_);
  EXPECT_EQ(decoder.Push(0xC3), "");
  EXPECT_EQ(decoder.Push(265), "");  // <|end|>
  EXPECT_EQ(decoder.Push(-5), "");
  EXPECT_EQ(decoder.Push(0xA9), "\u00E9");
  EXPECT_EQ(decoder.Finish(), "");
}

TEST_F(StreamDecoderTest, FinishLeavesItReadyForTheNextText) {
  StreamDecoder decoder(tokenizer_);
  EXPECT_EQ(decoder.Push(0xE4), "");
  EXPECT_EQ(decoder.Finish(), "\uFFFD");
  EXPECT_EQ(decoder.Finish(), "");
  EXPECT_EQ(decoder.Push('a'), "a");
}

}  // namespace
}  // namespace fg
