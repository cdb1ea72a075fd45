#include "engine/tokenizer/special_tokens.h"

#include <gtest/gtest.h>

namespace fg {
namespace {

const SpecialTokens& Tokens() {
  static const SpecialTokens tokens(
      {{"<|end|>", 1}, {"<|end|>more", 2}, {"<|", 3}, {"\xFF", 4}, {"a", 5}, {"<|end|>mo", 6}});
  return tokens;
}

void ExpectHit(std::string_view text, size_t from, size_t begin, size_t bytes, int32_t id) {
  const SpecialTokens::Hit hit = Tokens().Find(text, from);
  EXPECT_EQ(hit.begin, begin) << text;
  EXPECT_EQ(hit.bytes, bytes) << text;
  EXPECT_EQ(hit.id, id) << text;
}

TEST(SpecialTokens, TheLongestOfTheLeftmostWins) {
  ExpectHit("xx<|end|>more", 0, 2, 11, 2);
  ExpectHit("xx<|end|>mor", 0, 2, 9, 6);
  ExpectHit("xx<|end|>m", 0, 2, 7, 1);
  ExpectHit("xx<|end|", 0, 2, 2, 3);
  ExpectHit("xa<|end|>", 0, 1, 1, 5);
  ExpectHit("\xFF", 0, 0, 1, 4);
}

TEST(SpecialTokens, SearchBeginsWhereItIsTold) {
  ExpectHit("a<|a", 1, 1, 2, 3);
  ExpectHit("a<|a", 2, 3, 1, 5);
}

TEST(SpecialTokens, NothingIsFoundAtTheEnd) {
  ExpectHit("xyz<", 0, 4, 0, -1);
  ExpectHit("", 0, 0, 0, -1);
  ExpectHit("a", 1, 1, 0, -1);
  EXPECT_EQ(SpecialTokens().Find("abc", 0).bytes, 0u);
}

}  // namespace
}  // namespace fg
