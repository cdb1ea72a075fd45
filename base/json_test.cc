#include "base/json.h"

#include <gtest/gtest.h>

namespace fg {
namespace {

std::string ParseError(std::string_view text) {
  const auto parsed = ParseJson(text, "a.json");
  EXPECT_FALSE(parsed.ok()) << text;
  return parsed.status().message();
}

TEST(ParseJson, ReadsOneValue) {
  const auto parsed = ParseJson(R"( {"a": [1, -2, 0.5, null, true, "x"], "b": {}} )", "a.json");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->dump(), R"({"a":[1,-2,0.5,null,true,"x"],"b":{}})");
  EXPECT_EQ(ParseJson("3", "a.json")->get<int>(), 3);
}

TEST(ParseJson, RefusesMembersThatStandTwice) {
  EXPECT_EQ(ParseError(R"({"a": 1, "b": {"c": 1, "c": 2}})"),
            "a.json: the member 'c' stands twice in one object");
}

TEST(ParseJson, NamesLineAndColumn) {
  EXPECT_EQ(
      ParseError("{\n  \"a\": nope}"),
      "a.json:2:9: syntax error while parsing value - invalid literal; last read: '\"a\": no'");
  EXPECT_EQ(ParseError("{} {}"),
            "a.json:1:4: syntax error while parsing value - unexpected '{'; expected end of input");
  EXPECT_EQ(ParseError(""),
            "a.json:1:1: syntax error while parsing value - unexpected end of input; expected '[', "
            "'{', or a literal");
  EXPECT_TRUE(ParseError("\"\xff\"").starts_with("a.json:1:2: syntax error"))
      << ParseError("\"\xff\"");
  EXPECT_TRUE(ParseError("[NaN]").starts_with("a.json:1:2: syntax error"));
}

TEST(ParseJson, RefusesDeepNesting) {
  EXPECT_TRUE(ParseJson(std::string(100, '[') + std::string(100, ']'), "a.json").ok());
  EXPECT_EQ(ParseError(std::string(101, '[') + std::string(101, ']')),
            "a.json: nested deeper than 100");
  EXPECT_EQ(ParseError(std::string(5000000, '[')), "a.json: nested deeper than 100");
}

TEST(JsonFields, ReadsEveryType) {
  const Json value = {{"s", "x"}, {"b", true},       {"i", -3},
                      {"d", 0.5}, {"l", {"p", "q"}}, {"o", Json::object()}};
  JsonFields fields(value, "top");
  std::string s;
  bool b = false;
  int64_t i = 0;
  double d = 0;
  std::vector<std::string> l;
  fields.Required("s", &s);
  fields.Required("b", &b);
  fields.Required("i", &i);
  fields.Required("d", &d);
  fields.Required("l", &l);
  EXPECT_NE(fields.RequiredObject("o"), nullptr);
  std::string left_out = "kept";
  fields.Optional("none", &left_out);
  EXPECT_TRUE(fields.Finish().ok());
  EXPECT_EQ(s + "," + std::to_string(b) + "," + std::to_string(i) + "," + l.at(1), "x,1,-3,q");
  EXPECT_EQ(d, 0.5);
  EXPECT_EQ(left_out, "kept");
}

template <typename T>
std::string FieldError(const Json& value) {
  JsonFields fields(value, "cells[3]");
  T out{};
  fields.Required("name", &out);
  return fields.Finish().message();
}

TEST(JsonFields, NamesWhatIsWrong) {
  EXPECT_EQ(FieldError<std::string>(3), "cells[3]: must be an object, is a whole number");
  EXPECT_EQ(FieldError<std::string>(Json::object()), "cells[3].name: is missing");
  EXPECT_EQ(FieldError<std::string>({{"name", 3}}),
            "cells[3].name: must be a string, is a whole number");
  EXPECT_EQ(FieldError<bool>({{"name", nullptr}}), "cells[3].name: must be true or false, is null");
  EXPECT_EQ(FieldError<int64_t>({{"name", 1.5}}),
            "cells[3].name: must be a whole number of 64 bits, is a number");
  EXPECT_EQ(FieldError<int64_t>({{"name", UINT64_MAX}}),
            "cells[3].name: must be a whole number of 64 bits, is a whole number");
  EXPECT_EQ(FieldError<double>({{"name", INFINITY}}),
            "cells[3].name: must be a finite number, is a number");
  EXPECT_EQ(FieldError<std::vector<std::string>>({{"name", {"a", 1}}}),
            "cells[3].name[1]: must be a string, is a whole number");
  EXPECT_EQ(FieldError<std::string>({{"name", "a"}, {"nmae", "b"}}),
            "cells[3]: unknown member 'nmae'; did you mean 'name'?");
  EXPECT_EQ(FieldError<std::string>({{"name", "a"}, {"completely_else", "b"}}),
            "cells[3]: unknown member 'completely_else'");
}

TEST(JsonFields, KeepsTheFirstMistake) {
  JsonFields fields(Json::object(), "x");
  fields.Mistake("a", "is odd");
  fields.Mistake("b", "is odd too");
  EXPECT_FALSE(fields.ok());
  EXPECT_EQ(fields.Finish().message(), "x.a: is odd");
}

}  // namespace
}  // namespace fg
