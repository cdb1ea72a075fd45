// The ids of fixtures/tokenizer/vectors.json, made by another tokenizer, against ours, with the
// vocabulary that the fixture model carries.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "engine/tokenizer/tokenizer.h"

namespace fg {
namespace {

class TokenizerVectorsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto text = ReadFile(FG_SOURCE_DIR "/fixtures/tokenizer/vectors.json");
    ASSERT_TRUE(text.ok()) << text.status().message();
    vectors_ = nlohmann::json::parse(*text);
    auto model = MappedFile::Open(FG_SOURCE_DIR "/fixtures/models/small.f16.gguf");
    ASSERT_TRUE(model.ok()) << model.status().message();
    const auto file = GgufFile::Parse(model->bytes());
    ASSERT_TRUE(file.ok()) << file.status().message();
    auto tokenizer = Tokenizer::FromGguf(*file);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    tokenizer_.emplace(std::move(*tokenizer));
  }

  nlohmann::json vectors_;
  std::optional<Tokenizer> tokenizer_;
};

TEST_F(TokenizerVectorsTest, IdsAreThoseOfTheOtherTokenizer) {
  int plain = 0, special = 0;
  for (const auto& vector : vectors_) {
    const std::string text = vector.at("text");
    const bool parse = vector.value("special", false);
    const std::vector<int32_t> expected = vector.at("ids");
    EXPECT_EQ(tokenizer_->Encode(text, parse), expected) << vector.dump();
    ++(parse ? special : plain);
  }
  EXPECT_GT(plain, 300);
  EXPECT_GT(special, 10);
}

TEST_F(TokenizerVectorsTest, StreamedIdsGiveTheText) {
  for (const auto& vector : vectors_) {
    if (vector.value("special", false)) continue;  // control tokens are silent in a stream
    StreamDecoder decoder(*tokenizer_);
    std::string text;
    for (const int32_t id : vector.at("ids")) text += decoder.Push(id);
    EXPECT_EQ(text + decoder.Finish(), vector.at("text")) << vector.dump();
  }
}

}  // namespace
}  // namespace fg
