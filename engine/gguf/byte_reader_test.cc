#include "engine/gguf/byte_reader.h"

#include <gtest/gtest.h>

#include "engine/gguf/gguf_testing.h"

namespace fg {
namespace {

using std::string_literals::operator""s;

TEST(ByteReader, ReadsLittleEndianNumbersAndStrings) {
  const std::string bytes = "\x01\x02\x03\x04\x05\x03\0\0\0\0\0\0\0abc"s;
  ByteReader in(AsBytes(bytes));
  uint8_t byte = 0;
  uint32_t number = 0;
  std::string_view text;
  ASSERT_TRUE(in.Read(&byte, "a byte").ok());
  ASSERT_TRUE(in.Read(&number, "a number").ok());
  ASSERT_TRUE(in.ReadString(&text, "a string").ok());
  EXPECT_EQ(byte, 1);
  EXPECT_EQ(number, 0x05040302u);
  EXPECT_EQ(text, "abc");
  EXPECT_EQ(in.position(), bytes.size());
  EXPECT_EQ(in.remaining(), 0u);
}

TEST(ByteReader, ARefusalNamesOffsetPartAndOwnerAndMovesNothing) {
  const std::string bytes = "abcde";
  ByteReader in(AsBytes(bytes));
  uint16_t number = 0;
  ASSERT_TRUE(in.Read(&number, "a number").ok());
  uint32_t more = 7;
  EXPECT_EQ(in.Read(&more, "the count").message(),
            "truncated at byte 2: the count needs 4 bytes, 3 remain");
  in.SetOwner("key 'x'");
  const Status status = in.Read(&more, "the count");
  EXPECT_EQ(status.message(), "truncated at byte 2: the count of key 'x' needs 4 bytes, 3 remain");
  EXPECT_EQ(status.kind(), ErrorKind::kBadModel);
  EXPECT_EQ(more, 7u);
  EXPECT_EQ(in.position(), 2u);
}

TEST(ByteReader, AStringLongerThanAllIsRefused) {
  const std::string bytes =
      "\xff\xff\xff\xff\xff\xff\xff\xff"
      "abc";
  ByteReader in(AsBytes(bytes));
  std::string_view text;
  EXPECT_EQ(in.ReadString(&text, "the name").message(),
            "truncated at byte 8: the name needs 18446744073709551615 bytes, 3 remain");
  const std::string cut = "\x01\0\0"s;
  ByteReader shorter(AsBytes(cut));
  EXPECT_EQ(shorter.ReadString(&text, "the name").message(),
            "truncated at byte 0: the length of the name needs 8 bytes, 3 remain");
}

}  // namespace
}  // namespace fg
