#include "engine/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/tokenizer/tokenizer_testing.h"

namespace fg {
namespace {

using testing::ElementsAre;

// Ids of SmallVocabulary() beyond the bytes.
enum : int32_t {
  kHe = 256,
  kLl,
  kSpaceW,
  kHell,
  kHello,
  kAA,
  kAAAA,
  kF09F,
  kF09F90,
  kEnd,
  kEndless,
  kUser,
  kPad,
  kUnk
};

class TokenizerTest : public testing::Test {
 protected:
  TokenizerTest() : tokenizer_(std::move(TokenizerOf(SmallVocabulary().Writer())).value()) {}

  std::string Joined(const std::vector<int32_t>& ids, bool special = true) const {
    std::string text;
    for (const int32_t id : ids) text += tokenizer_.Piece(id, special);
    return text;
  }

  const Tokenizer tokenizer_;
};

TEST_F(TokenizerTest, MergesWithinPartsOnly) {
  EXPECT_THAT(tokenizer_.Encode(""), ElementsAre());
  EXPECT_THAT(tokenizer_.Encode("hello"), ElementsAre(kHello));
  EXPECT_THAT(tokenizer_.Encode("hello wo"), ElementsAre(kHello, kSpaceW, 'o'));
  EXPECT_THAT(tokenizer_.Encode("hhel"), ElementsAre('h', kHe, 'l'));
  EXPECT_THAT(tokenizer_.Encode("AAAAAAA"), ElementsAre(kAAAA, kAA, 'A'));
  // The part ends at the apostrophe, so "l" and "l" behind it do not meet the "he" before.
  EXPECT_THAT(tokenizer_.Encode("he'll"), ElementsAre(kHe, '\'', kLl));
  EXPECT_THAT(tokenizer_.Encode("\U0001F408"), ElementsAre(kF09F90, 0x88));
  EXPECT_THAT(tokenizer_.Encode("\xFF\x80"), ElementsAre(0xFF, 0x80));
}

TEST_F(TokenizerTest, SpecialTokensAreSeenOnlyWhereAsked) {
  EXPECT_THAT(tokenizer_.Encode("hello<|end|>", true), ElementsAre(kHello, kEnd));
  EXPECT_THAT(tokenizer_.Encode("<|endless|><|end|>he", true), ElementsAre(kEndless, kEnd, kHe));
  EXPECT_THAT(tokenizer_.Encode("<user> w", true), ElementsAre(kUser, kSpaceW));
  EXPECT_EQ(tokenizer_.Encode("<|end|>").size(), 7u);
  EXPECT_EQ(Joined(tokenizer_.Encode("<|end|>"), false), "<|end|>");
  // Neither unused nor unknown tokens are spelt in a text.
  EXPECT_EQ(tokenizer_.Encode("[PAD]", true).size(), 5u);
  EXPECT_EQ(tokenizer_.Encode("<unk>", true).size(), 5u);
}

TEST_F(TokenizerTest, PiecesAreBytes) {
  EXPECT_EQ(tokenizer_.Piece(kSpaceW), " w");
  EXPECT_EQ(tokenizer_.Piece(kF09F90), "\xF0\x9F\x90");
  EXPECT_EQ(tokenizer_.Piece(0), std::string(1, '\0'));
  EXPECT_EQ(tokenizer_.Piece(kEnd), "");
  EXPECT_EQ(tokenizer_.Piece(kEnd, true), "<|end|>");
  EXPECT_EQ(tokenizer_.Piece(kUnk), "");
  EXPECT_EQ(tokenizer_.Piece(kUser), "<user>");
  EXPECT_EQ(tokenizer_.Piece(-1), "");
  EXPECT_EQ(tokenizer_.Piece(tokenizer_.vocabulary()), "");
  EXPECT_EQ(tokenizer_.Piece(INT32_MIN, true), "");
}

TEST_F(TokenizerTest, AnyBytesComeBack) {
  std::mt19937 random(5);
  const std::string words[] = {"hello",  " w", "AAAA", "\U0001F408", "<|end|>",
                               "<user>", "\n", "1",    "'ll"};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (unsigned i = random() % 12; i > 0; --i) {
      if (random() % 2 == 0) {
        text += static_cast<char>(random());
      } else {
        text += words[random() % std::size(words)];
      }
    }
    ASSERT_EQ(Joined(tokenizer_.Encode(text)), text) << round;
    ASSERT_EQ(Joined(tokenizer_.Encode(text, true)), text) << round;
  }
}

}  // namespace
}  // namespace fg
