#include "gates/live_formula.h"

#include <gtest/gtest.h>

namespace flipgate {
namespace {

const FormulaValues kValues{
    .w16 = {{"q4_K", 30}, {"q6_K", 9}}, .v16 = {{"q4_K", 1000}}, .prefills = 4, .layers = 6};

int64_t Value(std::string_view text) {
  const auto formula = LiveFormula::Parse(text);
  EXPECT_TRUE(formula.ok()) << formula.status().message();
  const auto value = formula->Value(kValues);
  EXPECT_TRUE(value.ok()) << value.status().message();
  return *value;
}

std::string ParseError(std::string_view text) {
  const auto formula = LiveFormula::Parse(text);
  EXPECT_FALSE(formula.ok()) << text;
  return formula.status().message();
}

TEST(LiveFormula, CountsWhatTheModelHolds) {
  EXPECT_EQ(Value("= w16(q4_K) * prefills"), 120);
  EXPECT_EQ(Value(">= 1"), 1);
  EXPECT_EQ(Value("=(w16(q4_K)+w16( q6_K ))*prefills - 2 * layers"), 144);
  EXPECT_EQ(Value("= 10 - 3 - 2"), 5);
  EXPECT_EQ(Value("= 2 + 3 * 4"), 14);
  EXPECT_EQ(Value("= w16(q8_0) * prefills"), 0);
  EXPECT_EQ(Value("= 2 * v16(q4_K) + v16(q6_K)"), 2000);
}

TEST(LiveFormula, ComparesAsItSays) {
  const auto equal = LiveFormula::Parse("= 3"), least = LiveFormula::Parse(">= 3");
  EXPECT_TRUE(equal->Holds(3, 3));
  EXPECT_FALSE(equal->Holds(4, 3));
  EXPECT_TRUE(least->Holds(4, 3));
  EXPECT_FALSE(least->Holds(2, 3));
  EXPECT_EQ(least->text(), ">= 3");
}

TEST(LiveFormula, NamesTheColumnOfEachMistake) {
  EXPECT_EQ(ParseError("w16(q4_K)"), "column 1: a condition begins with '=' or '>='");
  EXPECT_EQ(ParseError("> 3"), "column 1: a condition begins with '=' or '>='");
  EXPECT_EQ(ParseError(""), "column 1: a condition begins with '=' or '>='");
  EXPECT_EQ(ParseError("= "), "column 3: the formula ends where a value is due");
  EXPECT_EQ(ParseError("= 3 +"), "column 6: the formula ends where a value is due");
  EXPECT_EQ(ParseError("= w16(q4_K) * prefils"),
            "column 15: unknown name 'prefils'; did you mean 'prefills'?");
  EXPECT_EQ(ParseError("= w16 * 3"), "column 7: w16 takes a type, as in w16(q4_K)");
  EXPECT_EQ(ParseError("= v16 * 3"), "column 7: v16 takes a type, as in v16(q4_K)");
  EXPECT_EQ(ParseError("= w16()"), "column 7: w16 takes a type, as in w16(q4_K)");
  EXPECT_EQ(ParseError("= w16(q4_K"), "column 11: a ')' is missing");
  EXPECT_EQ(ParseError("= (3 + 4"), "column 9: a ')' is missing");
  EXPECT_EQ(ParseError("= 3 % 4"), "column 5: unexpected '%'");
  EXPECT_EQ(ParseError("= 3 4"), "column 5: unexpected '4'");
  EXPECT_EQ(ParseError("= -3"), "column 3: unexpected '-' where a value is due");
  EXPECT_EQ(ParseError("= 1_000"), "column 3: '1_000' is no whole number in plain digits");
  EXPECT_EQ(ParseError("= 0x10"), "column 3: '0x10' is no whole number in plain digits");
  EXPECT_EQ(ParseError("= 99999999999999999999"),
            "column 3: '99999999999999999999' is no whole number in plain digits");
  EXPECT_EQ(ParseError("= " + std::string(100000, '(')), "column 23: parentheses too deep");
}

TEST(LiveFormula, DividesWhereItComesOutEven) {
  EXPECT_EQ(*LiveFormula::Parse("= 40 * 64 / 32")->Value(kValues), 80);
  EXPECT_EQ(*LiveFormula::Parse("= 7 + 12 / 3 / 2")->Value(kValues), 9);
  for (const char* uneven : {"= 7 / 2", "= 7 / 0", "= 9223372036854775807 / 2"}) {
    EXPECT_EQ(LiveFormula::Parse(uneven)->Value(kValues).status().message(),
              "'" + std::string(uneven) + "' divides unevenly here");
  }
}

TEST(LiveFormula, RefusesCountsThatCannotBe) {
  EXPECT_EQ(LiveFormula::Parse("= 2 - 3")->Value(kValues).status().message(),
            "'= 2 - 3' is negative here");
  EXPECT_EQ(LiveFormula::Parse("= 9223372036854775807 * 2")->Value(kValues).status().message(),
            "'= 9223372036854775807 * 2' is too large to count");
}

TEST(LabelMatches, KnowsTheStarAlone) {
  EXPECT_TRUE(LabelMatches("mmq.q4_K.*", "mmq.q4_K.nb"));
  EXPECT_TRUE(LabelMatches("mmq.q4_K.*", "mmq.q4_K."));
  EXPECT_FALSE(LabelMatches("mmq.q4_K.*", "mmq.q4_K"));
  EXPECT_FALSE(LabelMatches("mmq.q4_K.nb", "mmq.q4_K.nb!"));
  EXPECT_TRUE(LabelMatches("mmq.*!", "mmq.q4_K.generic!"));
  EXPECT_FALSE(LabelMatches("mmq.*!", "mmq.q4_K.generic"));
  EXPECT_TRUE(LabelMatches("*.dsc", "mmq.q4_K.nb.bt.dsc"));
  EXPECT_FALSE(LabelMatches("mmq.q4?K", "mmq.q4_K"));
  EXPECT_FALSE(LabelMatches("mmq[.]x", "mmq.x"));
  EXPECT_TRUE(LabelMatches("*", ""));
  EXPECT_FALSE(LabelMatches("", "x"));
  EXPECT_TRUE(LabelMatches("a*b*c", "aXbYbZc"));
  EXPECT_FALSE(LabelMatches(std::string(50, '*') + "b", std::string(20000, 'a')));
}

}  // namespace
}  // namespace flipgate
