#include "gates/yaml_document.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace flipgate {
namespace {

YamlDocument Parsed(const std::string& text) {
  auto document = YamlDocument::Parse(text, "m.yaml");
  EXPECT_TRUE(document.ok()) << document.status().message();
  return std::move(document).value();
}

std::string Refused(const std::string& text) {
  const auto document = YamlDocument::Parse(text, "m.yaml");
  EXPECT_FALSE(document.ok()) << text;
  EXPECT_EQ(document.status().kind(), fg::ErrorKind::kUsage);
  return document.status().message();
}

TEST(YamlDocument, BuildsATreeWithPlaces) {
  const YamlDocument document =
      Parsed("# a comment\nvérité:\n  - one\n  - {a: b, c: \"d e\"}\nlast: |\n  two\n  lines\n");
  const YamlNode& root = document.root();
  ASSERT_EQ(root.entries.size(), 2u);
  EXPECT_EQ(root.entries[0].key, "vérité");
  EXPECT_EQ(root.entries[0].mark.line, 2);
  const YamlNode& list = root.entries[0].value;
  ASSERT_EQ(list.items.size(), 2u);
  EXPECT_EQ(list.items[0].scalar, "one");
  const YamlNode::Entry& c = list.items[1].entries.at(1);
  EXPECT_EQ(c.value.scalar, "d e");
  EXPECT_EQ(c.value.mark.line, 4);
  EXPECT_EQ(c.value.mark.column, 15);
  EXPECT_EQ(root.entries[1].value.scalar, "two\nlines\n");
}

TEST(YamlDocument, WordsThatOthersReadAsTruthOrNumbersAreText) {
  for (const char* word : {"no", "yes", "on", "off", "y", "n", "true", "1.10", "1_000", "0o17",
                           ".inf", "0x1f", "12:30"}) {
    const YamlDocument document = Parsed(fmt::format("{0}: {0}\n", word));
    ASSERT_EQ(document.root().entries.size(), 1u) << word;
    EXPECT_EQ(document.root().entries[0].key, word);
    EXPECT_EQ(document.root().entries[0].value.scalar, word);
  }
}

TEST(YamlDocument, OneMarkedDocumentIsFine) {
  EXPECT_EQ(Parsed("---\na: b\n...\n").root().entries.size(), 1u);
  EXPECT_EQ(Parsed("a: b\r\nc: d\r\n").root().entries.size(), 2u);
}

TEST(YamlDocument, RefusesKeysThatStandTwice) {
  EXPECT_EQ(Refused("a:\n  b: 1\n  c: 2\n  b: 3\n"),
            "m.yaml:4:3: the key 'b' stands twice; first on line 2\n    b: 3\n    ^");
  EXPECT_EQ(Refused("a: 1\n\"a\": 2\n"),
            "m.yaml:2:1: the key 'a' stands twice; first on line 1\n  \"a\": 2\n  ^");
  EXPECT_EQ(Refused("x: [{é: 1, é: 2}]\n"),
            "m.yaml:1:12: the key 'é' stands twice; first on line 1\n  x: [{é: 1, é: 2}]\n         "
            "    ^");
}

TEST(YamlDocument, RefusesAliasesAnchorsMergeKeysAndTags) {
  EXPECT_EQ(Refused("a: &x 1\nb: *x\n"),
            "m.yaml:1:4: an anchor; write each value out\n  a: &x 1\n     ^");
  EXPECT_EQ(Refused("a: &x {b: c}\n"),
            "m.yaml:1:4: an anchor; write each value out\n  a: &x {b: c}\n     ^");
  EXPECT_EQ(Refused("b: *x\n"),
            "m.yaml:1:4: the referenced anchor is not defined\n  b: *x\n     ^");
  EXPECT_EQ(Refused("a:\n  <<: {b: 1}\n"),
            "m.yaml:2:3: a merge key; write the entries out\n    <<: {b: 1}\n    ^");
  EXPECT_EQ(Refused("a: !!int 3\n"),
            "m.yaml:1:4: a tag; a value's type comes from its place\n  a: !!int 3\n     ^");
  EXPECT_EQ(Refused("a: !mine [1]\n"),
            "m.yaml:1:4: a tag; a value's type comes from its place\n  a: !mine [1]\n     ^");
}

TEST(YamlDocument, RefusesNineLevelsOfNineAliasesAtOnce) {
  std::string text = "a0: &a0 [x]\n";
  for (int level = 1; level < 10; ++level) {
    text += fmt::format("a{0}: &a{0} [*a{1}", level, level - 1);
    for (int i = 1; i < 9; ++i) text += fmt::format(", *a{}", level - 1);
    text += "]\n";
  }
  EXPECT_EQ(Refused(text), "m.yaml:1:5: an anchor; write each value out\n  a0: &a0 [x]\n      ^");
}

TEST(YamlDocument, RefusesEmptyValues) {
  EXPECT_EQ(Refused("a:\nb: 1\n"),
            "m.yaml:1:1: an empty value; write one, or leave the key out\n  a:\n  ^");
  EXPECT_EQ(Refused("a: ~\n"),
            "m.yaml:1:1: an empty value; write one, or leave the key out\n  a: ~\n  ^");
  EXPECT_EQ(Refused("a: {b}\n"),
            "m.yaml:1:5: an empty value; write one, or leave the key out\n  a: {b}\n      ^");
  EXPECT_EQ(Refused("- x\n- null\n"),
            "m.yaml:2:3: an empty value; write one, or leave the key out\n  - null\n    ^");
  EXPECT_EQ(Refused("\"\": 1\n"), "m.yaml:1:1: an empty key\n  \"\": 1\n  ^");
  EXPECT_EQ(Refused("[a, b]: c\n"), "m.yaml:1:1: a key must be plain text\n  [a, b]: c\n  ^");
}

TEST(YamlDocument, RefusesASecondDocumentAndNone) {
  EXPECT_EQ(Refused("a: 1\n---\nb: 2\n"),
            "m.yaml:2:1: a second document; one file holds one\n  ---\n  ^");
  EXPECT_EQ(Refused("a: 1\n---\n"),
            "m.yaml:2:1: a second document; one file holds one\n  ---\n  ^");
  EXPECT_EQ(Refused(""), "m.yaml:1:1: the file holds nothing");
  EXPECT_EQ(Refused("# only words\n"), "m.yaml:1:1: the file holds nothing\n  # only words\n  ^");
}

TEST(YamlDocument, RefusesBytesThatHide) {
  EXPECT_EQ(Refused("a:\n\t- b\n"), "m.yaml:2:1: a tab; use spaces\n   - b\n  ^");
  EXPECT_EQ(Refused("a: b\tc\n"), "m.yaml:1:5: a tab; use spaces\n  a: b c\n      ^");
  EXPECT_EQ(
      Refused("\xEF\xBB\xBF"
              "a: b\n"),
      "m.yaml:1:1: the file begins with a byte order mark; save it as plain UTF-8\n  \xEF\xBB\xBF"
      "a: b\n  ^");
  EXPECT_EQ(Refused(std::string("\xFF\xFE"
                                "a\0",
                                4)),
            "m.yaml:1:1: the file begins with a byte order mark; save it as plain UTF-8");
  EXPECT_EQ(Refused("a: \xE9t\xE9\n"), "m.yaml:1:4: a byte that is not UTF-8");
  for (const char* bad :
       {"\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE0\x80\xAF", "\x80", "\xE2\x82"}) {
    EXPECT_EQ(Refused(fmt::format("a: {}\n", bad)), "m.yaml:1:4: a byte that is not UTF-8");
  }
  EXPECT_EQ(Refused(std::string("a: \0b\n", 6)), "m.yaml:1:4: a control character");
  EXPECT_EQ(Refused("a: b\rc: d\n"), "m.yaml:1:5: a control character");
}

TEST(YamlDocument, RefusesMoreThanTenThousandNodes) {
  std::string text = "a: [x";  // with the map, its key and the list: 10,000
  for (int i = 1; i < 9997; ++i) text += ",\n x";
  EXPECT_TRUE(YamlDocument::Parse(text + "]\n", "m.yaml").ok());
  EXPECT_EQ(Refused(text + ",\n x]\n"), "m.yaml:9998:2: more than 10,000 nodes\n   x]\n   ^");
  EXPECT_EQ(Refused("a: " + std::string(1 << 20, 'x') + "\n"),
            "m.yaml:1:1: the file is larger than 1 MiB");
}

TEST(YamlDocument, RefusesDeepNestingWithoutFalling) {
  const std::string message = Refused(std::string(100000, '['));
  EXPECT_TRUE(message.starts_with("m.yaml:")) << message;
}

TEST(YamlDocument, GivesThePlaceOfASyntaxError) {
  EXPECT_EQ(Refused("a: [1, 2\nb: 3\n"),
            "m.yaml:2:2: end of sequence flow not found\n  b: 3\n   ^");
}

TEST(YamlDocument, AMissingFileIsNamed) {
  EXPECT_EQ(YamlDocument::Load("/no/such.yaml").status().message(),
            "/no/such.yaml: No such file or directory");
}

// The message for `value` as read by `read`, without place and caret.
template <typename Read>
std::string Wrong(const std::string& value, Read read) {
  const YamlDocument document = Parsed(fmt::format("k: {}\n", value));
  const auto result = (document.*read)(document.root().entries[0].value, "limit");
  EXPECT_FALSE(result.ok()) << value;
  const std::string message = result.status().message();
  return message.substr(0, message.find('\n'));
}

TEST(YamlValues, ReadNumbersStrictly) {
  const YamlDocument document = Parsed("k: [0, -12, 9223372036854775807, 0.5, 1e-6, -3.25]\n");
  const auto& items = document.root().entries[0].value.items;
  EXPECT_EQ(*document.Integer(items[0], "k"), 0);
  EXPECT_EQ(*document.Integer(items[1], "k"), -12);
  EXPECT_EQ(*document.Integer(items[2], "k"), INT64_MAX);
  EXPECT_EQ(*document.Number(items[3], "k"), 0.5);
  EXPECT_EQ(*document.Number(items[4], "k"), 1e-6);
  EXPECT_EQ(*document.Number(items[5], "k"), -3.25);
}

TEST(YamlValues, RefuseNumbersThatOthersReadDifferently) {
  for (const char* bad : {"1_000", "0o17", "017", "0x1f", "1.0", "1.10", "+1", "1e3",
                          "9223372036854775808", "--1", "1 "}) {
    const std::string shown = std::string(bad) == "1 " ? "1" : bad;
    if (shown == "1") continue;  // YAML itself drops the blank
    EXPECT_EQ(Wrong(bad, &YamlDocument::Integer),
              "m.yaml:1:4: limit must be a whole number in plain digits, is '" + shown + "'");
  }
  for (const char* bad : {"1_000.5", "0o17", ".inf", "-.inf", ".nan", "nan", "inf", ".5", "5.",
                          "1e999", "0x1p3", "1,5"}) {
    EXPECT_EQ(Wrong(bad, &YamlDocument::Number),
              "m.yaml:1:4: limit must be a finite decimal number such as 0.5 or 1e-6, is '" +
                  std::string(bad) + "'");
  }
  EXPECT_EQ(Wrong("[1]", &YamlDocument::Number),
            "m.yaml:1:4: limit must be a finite decimal number such as 0.5 or 1e-6, is a list");
  EXPECT_TRUE(Wrong(std::string(100000, '1'), &YamlDocument::Integer)
                  .starts_with("m.yaml:1:4: limit must be"));
}

TEST(YamlValues, ReadTimesSumsAndLists) {
  const YamlDocument document = Parsed("k: [500 ms, 60 s, 2 min, " + std::string(64, 'a') + "]\n");
  const YamlNode& list = document.root().entries[0].value;
  EXPECT_EQ(*document.Milliseconds(list.items[0], "k"), 500);
  EXPECT_EQ(*document.Milliseconds(list.items[1], "k"), 60000);
  EXPECT_EQ(*document.Milliseconds(list.items[2], "k"), 120000);
  EXPECT_EQ(*document.Sha256(list.items[3], "k"), std::string(64, 'a'));
  EXPECT_EQ(document.Strings(list, "k")->size(), 4u);
}

TEST(YamlValues, RefuseWhatIsNotTheType) {
  for (const char* bad : {"60", "60s", "0 s", "1.5 s", "60 h"}) {
    EXPECT_EQ(Wrong(bad, &YamlDocument::Milliseconds),
              "m.yaml:1:4: limit must be a time such as 500 ms, 60 s or 2 min, is '" +
                  std::string(bad) + "'");
  }
  EXPECT_EQ(Wrong("abc", &YamlDocument::Sha256),
            "m.yaml:1:4: limit must be 64 lower-case hexadecimal digits, is 'abc'");
  EXPECT_EQ(Wrong("{a: b}", &YamlDocument::String), "m.yaml:1:4: limit must be text, is a map");
  EXPECT_EQ(Wrong("\"\"", &YamlDocument::String), "m.yaml:1:4: limit must not be empty");
  EXPECT_EQ(Wrong("word", &YamlDocument::Strings), "m.yaml:1:4: limit must be a list, is 'word'");
  EXPECT_EQ(Wrong("[a, b, a]", &YamlDocument::Strings), "m.yaml:1:11: 'a' stands twice in limit");
  EXPECT_EQ(Wrong("[a, [b]]", &YamlDocument::Strings),
            "m.yaml:1:8: each of limit must be text, is a list");
}

TEST(YamlMap, RefusesUnknownKeysWithTheNearest) {
  const YamlDocument document = Parsed("version: 1\nmodles: {}\n");
  auto map = YamlMap::Open(document, document.root(), "the matrix");
  ASSERT_TRUE(map.ok());
  EXPECT_TRUE(map->Required("version").ok());
  EXPECT_EQ(map->Optional("models"), nullptr);
  EXPECT_EQ(
      map->Finish().message(),
      "m.yaml:2:1: unknown key 'modles' in the matrix; did you mean 'models'?\n  modles: {}\n  ^");
  EXPECT_EQ(map->Required("cells").status().message(),
            "m.yaml:1:1: the matrix has no 'cells'\n  version: 1\n  ^");
  EXPECT_EQ(YamlMap::Open(document, document.root().entries[0].value, "models").status().message(),
            "m.yaml:1:10: models must be a map, is '1'\n  version: 1\n           ^");
}

}  // namespace
}  // namespace flipgate
