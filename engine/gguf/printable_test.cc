#include "engine/gguf/printable.h"

#include <gtest/gtest.h>

namespace fg {
namespace {

using std::string_literals::operator""s;

TEST(Printable, PlainTextIsQuoted) {
  EXPECT_EQ(Printable("blk.0.attn_q.weight"), "'blk.0.attn_q.weight'");
  EXPECT_EQ(Printable(""), "''");
  EXPECT_EQ(Printable(" ~"), "' ~'");
}

TEST(Printable, WhatATerminalCouldActOnIsEscaped) {
  EXPECT_EQ(Printable("a\nb\x1b[0m\x7f\x80\xff"s + '\0'), "'a\\x0ab\\x1b[0m\\x7f\\x80\\xff\\x00'");
  EXPECT_EQ(Printable("it's \\"), "'it\\x27s \\x5c'");
}

TEST(Printable, LongTextIsCutAfter64Bytes) {
  EXPECT_EQ(Printable(std::string(64, 'x')), "'" + std::string(64, 'x') + "'");
  EXPECT_EQ(Printable(std::string(65, 'x')), "'" + std::string(64, 'x') + "'...");
}

}  // namespace
}  // namespace fg
