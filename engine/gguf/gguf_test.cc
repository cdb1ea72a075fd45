#include "engine/gguf/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/gguf/gguf_testing.h"

namespace fg {
namespace {

using testing::ElementsAre;

class GgufTest : public testing::Test {
 protected:
  GgufTest() : bytes_(SampleGguf()) {
    Result<GgufFile> parsed = GgufFile::Parse(AsBytes(bytes_));
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    if (parsed.ok()) file_ = std::move(*parsed);
  }

  template <typename T>
  static std::string Error(const Result<T>& result) {
    EXPECT_EQ(result.status().kind(), ErrorKind::kBadModel);
    return result.status().message();
  }

  const std::string bytes_;
  GgufFile file_;
};

TEST_F(GgufTest, ReadsEveryValueType) {
  EXPECT_EQ(file_.keys().size(), 17u);
  EXPECT_EQ(*file_.GetString("general.architecture"), "qwen2");
  EXPECT_EQ(*file_.GetUnsigned("a.u8"), 200u);
  EXPECT_EQ(std::get<int64_t>(file_.FindKey("a.i8")->data), -100);
  EXPECT_EQ(*file_.GetUnsigned("a.u16"), 60000u);
  EXPECT_EQ(std::get<int64_t>(file_.FindKey("a.i16")->data), -30000);
  EXPECT_EQ(*file_.GetUnsigned("a.u32"), 4000000000u);
  EXPECT_EQ(std::get<int64_t>(file_.FindKey("a.i32")->data), -2000000000);
  EXPECT_EQ(*file_.GetFloat("a.f32"), 0.5);
  EXPECT_TRUE(*file_.GetBool("a.bool"));
  EXPECT_EQ(*file_.GetUnsigned("a.u64"), ~uint64_t{0});
  EXPECT_EQ(std::get<int64_t>(file_.FindKey("a.i64")->data), int64_t{-1} << 62);
  EXPECT_EQ(*file_.GetFloat("a.f64"), 1e300);
  EXPECT_THAT(*file_.GetStrings("a.strings"), ElementsAre("one", "", "three"));
  EXPECT_THAT(*file_.GetIntegers("a.i32s"), ElementsAre(-1, 0, 7));
  const auto& bools = std::get<GgufArray>(file_.FindKey("a.bools")->data);
  EXPECT_THAT(std::get<std::vector<uint64_t>>(bools.values), ElementsAre(1, 0, 1));
  const auto& floats = std::get<GgufArray>(file_.FindKey("a.f32s")->data);
  EXPECT_THAT(std::get<std::vector<double>>(floats.values), ElementsAre(0.25, -2.0));
  EXPECT_EQ(floats.size(), 2u);
}

TEST_F(GgufTest, ReadsTensors) {
  ASSERT_EQ(file_.tensors().size(), 5u);
  const GgufTensor* large = file_.FindTensor("large");
  ASSERT_NE(large, nullptr);
  EXPECT_EQ(large->type, TensorType::kQ6_K);
  EXPECT_THAT(large->shape, ElementsAre(256, 3));
  EXPECT_EQ(large->values(), 768u);
  EXPECT_EQ(large->bytes, 630u);
  EXPECT_EQ(file_.alignment(), 32u);
  for (const GgufTensor& tensor : file_.tensors()) {
    EXPECT_EQ(tensor.offset % 32, 0u) << tensor.name;
    for (uint64_t i = 0; i < tensor.bytes; ++i) {
      ASSERT_EQ(tensor.data[i], static_cast<std::byte>(i)) << tensor.name << " byte " << i;
    }
  }
  EXPECT_EQ(file_.FindTensor("absent"), nullptr);
}

TEST_F(GgufTest, AMissingKeyIsNamed) {
  EXPECT_EQ(file_.FindKey("b.none"), nullptr);
  EXPECT_EQ(Error(file_.GetUnsigned("b.none")), "missing key 'b.none'");
  EXPECT_EQ(Error(file_.GetFloat("b.none")), "missing key 'b.none'");
  EXPECT_EQ(Error(file_.GetBool("b.none")), "missing key 'b.none'");
  EXPECT_EQ(Error(file_.GetString("b.none")), "missing key 'b.none'");
  EXPECT_EQ(Error(file_.GetStrings("b.none")), "missing key 'b.none'");
  EXPECT_EQ(Error(file_.GetIntegers("b.none")), "missing key 'b.none'");
}

TEST_F(GgufTest, AKeyOfAnotherTypeNamesBoth) {
  EXPECT_EQ(Error(file_.GetUnsigned("a.f32")),
            "key 'a.f32' is f32; it must be an unsigned integer");
  EXPECT_EQ(Error(file_.GetUnsigned("a.bool")),
            "key 'a.bool' is bool; it must be an unsigned integer");
  EXPECT_EQ(Error(file_.GetUnsigned("a.i32")),
            "key 'a.i32' is i32 -2000000000; it must not be negative");
  EXPECT_EQ(Error(file_.GetFloat("a.u32")), "key 'a.u32' is u32; it must be f32 or f64");
  EXPECT_EQ(Error(file_.GetBool("a.u8")), "key 'a.u8' is u8; it must be bool");
  EXPECT_EQ(Error(file_.GetString("a.u8")), "key 'a.u8' is u8; it must be string");
  EXPECT_EQ(Error(file_.GetStrings("a.i32s")),
            "key 'a.i32s' is array of i32; it must be an array of string");
  EXPECT_EQ(Error(file_.GetStrings("general.architecture")),
            "key 'general.architecture' is string; it must be an array of string");
  EXPECT_EQ(Error(file_.GetIntegers("a.strings")),
            "key 'a.strings' is array of string; it must be an array of integers");
  EXPECT_EQ(Error(file_.GetIntegers("a.bools")),
            "key 'a.bools' is array of bool; it must be an array of integers");
  EXPECT_EQ(Error(file_.GetIntegers("a.f32s")),
            "key 'a.f32s' is array of f32; it must be an array of integers");
  EXPECT_EQ(Error(file_.GetIntegers("a.u64s")),
            "key 'a.u64s' holds 18446744073709551615, which does not fit 63 bits");
}

}  // namespace
}  // namespace fg
