#include "engine/tokenizer/pretokenize_qwen2.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/tokenizer/tokenizer_testing.h"

namespace fg {
namespace {

// Parts joined with '|'; the texts hold none.
std::string Cut(std::string_view text) {
  std::string out;
  for (const std::string_view part : PretokenizeQwen2(text)) {
    if (!out.empty()) out += '|';
    out += part;
  }
  return out;
}

TEST(PretokenizeQwen2, CutsAsThePatternDoes) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"Hello world", "Hello| world"},
      {"Hello, world!", "Hello|,| world|!"},
      // Contractions, whatever their case; U+017F folds to s, a Kelvin sign to nothing here.
      {"it's", "it|'s"},
      {"IT'S we'LL they'Ve I'd I'm you'rE can't",
       "IT|'S| we|'LL| they|'Ve| I|'d| I|'m| you|'rE| can|'t"},
      {"x'\u017Fy", "x|'\u017F|y"},
      {"'sun", "'s|un"},
      {"'tis", "'t|is"},
      {"'really", "'re|ally"},
      {"'lland", "'ll|and"},
      {"'la", "'la"},
      {"'v", "'v"},
      {"'", "'"},
      {"' s", "'| s"},
      {"''s", "''|s"},
      {"'''", "'''"},
      {"a'1", "a|'|1"},
      // One character that is no letter may lead a word.
      {".abc", ".abc"},
      {"..abc", "..|abc"},
      {"\tabc", "\tabc"},
      {"(a)", "(a|)"},
      {"a-b", "a|-b"},
      {"\u00A0abc", "\u00A0abc"},
      {"\u0301a", "\u0301a"},
      {"a\u0301b", "a|\u0301b"},
      {"\nabc", "\n|abc"},
      // Numbers stand alone.
      {"1234", "1|2|3|4"},
      {"a1b2", "a|1|b|2"},
      {" 5", " |5"},
      {"  5", " | |5"},
      {"\u0661\u00BD\u2167", "\u0661|\u00BD|\u2167"},
      // Symbols take one plain space before them and line ends behind them.
      {" ...", " ..."},
      {"\t...", "\t|..."},
      {"  ...", " | ..."},
      {"!?\r\n\r\nx", "!?\r\n\r\n|x"},
      {"! \n x", "!| \n| x"},
      {"...\n ...", "...\n| ..."},
      {" \U0001F408", " \U0001F408"},
      // Spaces: up to the last line end; all but the last before a word; all at the end.
      {"a  b", "a| | b"},
      {"a   b", "a|  | b"},
      {"a  ", "a|  "},
      {" ", " "},
      {"\n", "\n"},
      {"a \n b", "a| \n| b"},
      {"a\n\n  b", "a|\n\n| | b"},
      {"a \n \n  b", "a| \n \n| | b"},
      {"\r\n\t x", "\r\n|\t| x"},
      {"\n\t", "\n|\t"},
      {"\u3000\u3000a", "\u3000|\u3000a"},
      {" \u00A0 1", " \u00A0| |1"},
      {"\x1C", "\x1C"},
      {"a\x1C"
       "b",
       "a|\x1C"
       "b"},
      {"\u0085\u0085x", "\u0085|\u0085x"},
      {"\u4F60\u597D\uFF0C\u4E16\u754C", "\u4F60\u597D|\uFF0C\u4E16\u754C"},
      {"\u0E17\u0E35\u0E48", "\u0E17|\u0E35\u0E48"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Cut(text), expected) << text;
}

TEST(PretokenizeQwen2, BytesThatAreNoUtf8AreSymbols) {
  EXPECT_EQ(Cut("\xFF\xC3"), "\xFF\xC3");
  EXPECT_EQ(Cut(" \x80\n1"), " \x80\n|1");
  EXPECT_EQ(Cut("a\xE4\xBD"
                "b"),
            "a|\xE4\xBD|b");  // two symbols, so none leads the word
  EXPECT_EQ(Cut("a\xC3"
                "b"),
            "a|\xC3"
            "b");
  EXPECT_EQ(Cut("a\xED\xA0\x80"), "a|\xED\xA0\x80");  // a surrogate
}

TEST(PretokenizeQwen2, PartsJoinToTheText) {
  std::mt19937 random(11);
  const std::string alphabet[] = {"'",        "s",      "\u017F", "l",      " ", "  ",
                                  "\t",       "\n",     "\r\n",   "1",      ".", "\xFF",
                                  "\xE4\xBD", "\u4F60", "\u0301", "\u00A0", "Z", "\U0001F408"};
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (unsigned i = random() % 20; i > 0; --i) text += alphabet[random() % std::size(alphabet)];
    uint64_t decoded = 0;
    std::string joined;
    for (const std::string_view part : PretokenizeQwen2(text, &decoded)) {
      ASSERT_FALSE(part.empty()) << text;
      joined += part;
    }
    ASSERT_EQ(joined, text);
    ASSERT_LE(decoded, 5 * text.size()) << text;
  }
}

// Counted, not timed: no character is looked at more than a few times, however long its run.
TEST(PretokenizeQwen2, WorkIsLinearInTheLength) {
  for (const char* unit : {"A", "\n", " ", ".", "1", "\u4E2D", "\u0301", "'", "\t", "a ", " \n",
                           "\xFF", "\xE4\xBD", "  x", "\n   x"}) {
    for (const uint64_t count : {1000u, 50000u}) {
      std::string text;
      for (uint64_t i = 0; i < count; ++i) text += unit;
      uint64_t decoded = 0;
      PretokenizeQwen2(text, &decoded);
      EXPECT_GE(decoded, count) << unit;
      EXPECT_LE(decoded, 3 * text.size()) << unit;
    }
  }
}

}  // namespace
}  // namespace fg
