#include "engine/tokenizer/vocabulary.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/tokenizer/tokenizer_testing.h"

namespace fg {
namespace {

std::string Error(const GgufWriter& writer) {
  const Result<Tokenizer> tokenizer = TokenizerOf(writer);
  EXPECT_EQ(tokenizer.status().kind(), ErrorKind::kBadModel);
  return tokenizer.status().message();
}

std::string ErrorWith(const char* key, GgufValue value) {
  GgufWriter writer = SmallVocabulary().Writer();
  writer.SetKey(key, std::move(value));
  return Error(writer);
}

TEST(Vocabulary, TheSmallOneIsWhole) {
  const Result<Tokenizer> tokenizer = TokenizerOf(SmallVocabulary().Writer());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_EQ(tokenizer->vocabulary(), 256 + 9 + 5);
  EXPECT_EQ(tokenizer->eos(), -1);
  EXPECT_EQ(tokenizer->bos(), -1);
  EXPECT_FALSE(tokenizer->add_bos());
}

TEST(Vocabulary, IdsOfTheFileAreKept) {
  GgufWriter writer = SmallVocabulary().Writer();
  writer.SetKey("tokenizer.ggml.eos_token_id", GgufU32(265));
  writer.SetKey("tokenizer.ggml.bos_token_id", GgufU32(269));
  writer.SetKey("tokenizer.ggml.add_bos_token", GgufBool(true));
  writer.AddTensor("token_embd.weight", TensorType::kF32, {1, 270});
  const Result<Tokenizer> tokenizer = TokenizerOf(writer);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_EQ(tokenizer->eos(), 265);
  EXPECT_EQ(tokenizer->bos(), 269);
  EXPECT_TRUE(tokenizer->add_bos());
}

TEST(Vocabulary, UnknownNamesAreRefusedByName) {
  EXPECT_EQ(ErrorWith("tokenizer.ggml.model", GgufString("llama")),
            "tokenizer.ggml.model 'llama' is not known; known: gpt2");
  EXPECT_EQ(ErrorWith("tokenizer.ggml.pre", GgufString("foo")),
            "tokenizer.ggml.pre 'foo' is not known; known: qwen2");
  EXPECT_EQ(ErrorWith("tokenizer.ggml.pre", GgufU32(1)),
            "key 'tokenizer.ggml.pre' is u32; it must be string");
}

TEST(Vocabulary, MissingKeysAreNamed) {
  GgufWriter writer;
  EXPECT_EQ(Error(writer), "missing key 'tokenizer.ggml.model'");
  writer.SetKey("tokenizer.ggml.model", GgufString("gpt2"));
  EXPECT_EQ(Error(writer), "missing key 'tokenizer.ggml.pre'");
  writer.SetKey("tokenizer.ggml.pre", GgufString("qwen2"));
  EXPECT_EQ(Error(writer), "missing key 'tokenizer.ggml.tokens'");
  writer.SetKey("tokenizer.ggml.tokens", GgufStrings(VocabularyFile().tokens()));
  EXPECT_EQ(Error(writer), "missing key 'tokenizer.ggml.merges'");
  writer.SetKey("tokenizer.ggml.merges", GgufStrings({}));
  EXPECT_TRUE(TokenizerOf(writer).ok()) << "token types may be left out";
}

TEST(Vocabulary, BadTokensAreNamed) {
  EXPECT_EQ(Error(SmallVocabulary().Add("he", 1).Writer()),
            "tokenizer.ggml.tokens[270] 'he' repeats token 256");
  EXPECT_EQ(Error(SmallVocabulary().Add("a b", 1).Writer()),
            "tokenizer.ggml.tokens[270] 'a b' holds a character that stands for no byte");
  EXPECT_EQ(Error(SmallVocabulary().Add("x", 7).Writer()),
            "tokenizer.ggml.token_type[270] is 7; 1 to 6 are known");
  VocabularyFile lacking = SmallVocabulary();
  lacking.tokens()[' '] = "zz";
  EXPECT_EQ(Error(lacking.Writer()),
            "tokenizer.ggml.tokens has no normal token '\\xc4\\xa0' for byte 32");
  VocabularyFile control = SmallVocabulary();
  control.kinds()['A'] = 3;
  EXPECT_EQ(Error(control.Writer()), "tokenizer.ggml.tokens has no normal token 'A' for byte 65");
  EXPECT_EQ(ErrorWith("tokenizer.ggml.token_type", GgufI32s({1, 1})),
            "tokenizer.ggml.token_type has 2 entries, tokenizer.ggml.tokens 270");
}

TEST(Vocabulary, BadMergesAreNamed) {
  const auto with = [](std::vector<std::string> merges) {
    VocabularyFile file = SmallVocabulary();
    for (std::string& merge : merges) file.merges().push_back(std::move(merge));
    return Error(file.Writer());
  };
  EXPECT_EQ(with({"x y"}), "tokenizer.ggml.merges[9] 'x y': 'xy' is no normal token");
  EXPECT_EQ(with({"qq y"}), "tokenizer.ggml.merges[9] 'qq y': 'qq' is no normal token");
  EXPECT_EQ(with({"y qq"}), "tokenizer.ggml.merges[9] 'y qq': 'qq' is no normal token");
  EXPECT_EQ(with({"<|end| >"}), "tokenizer.ggml.merges[9] '<|end| >': '<|end|' is no normal token");
  EXPECT_EQ(with({"h e"}), "tokenizer.ggml.merges[9] 'h e' repeats merge 0");
  for (const char* text : {"", "he", " he", "he "}) {
    EXPECT_EQ(with({text}), std::string("tokenizer.ggml.merges[9] '") + text +
                                "' is not two tokens with a space between");
  }
}

TEST(Vocabulary, IdsOutOfRangeAreNamed) {
  EXPECT_EQ(ErrorWith("tokenizer.ggml.eos_token_id", GgufU32(270)),
            "tokenizer.ggml.eos_token_id is 270; the vocabulary has 270 tokens");
  EXPECT_EQ(ErrorWith("tokenizer.ggml.bos_token_id", GgufU32(4294967295u)),
            "tokenizer.ggml.bos_token_id is 4294967295; the vocabulary has 270 tokens");
  EXPECT_EQ(ErrorWith("tokenizer.ggml.bos_token_id", {GgufValueType::kI32, int64_t{-1}}),
            "key 'tokenizer.ggml.bos_token_id' is i32 -1; it must not be negative");
  EXPECT_EQ(ErrorWith("tokenizer.ggml.add_bos_token", GgufU32(1)),
            "key 'tokenizer.ggml.add_bos_token' is u32; it must be bool");
  GgufWriter writer = SmallVocabulary().Writer();
  writer.AddTensor("token_embd.weight", TensorType::kF32, {1, 269});
  EXPECT_EQ(Error(writer), "tokenizer.ggml.tokens has 270 tokens, token_embd.weight only 269 rows");
}

// Whatever damage is accepted, texts still come back from their ids.
TEST(Vocabulary, DamageIsRefusedOrHarmless) {
  const std::string whole = SmallVocabulary().Writer().Head();
  std::mt19937 random(23);
  int accepted = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = whole;
    for (unsigned flips = 1 + random() % 3; flips > 0; --flips) {
      const size_t at = random() % bytes.size();
      bytes[at] = static_cast<char>(random() % 2 ? random() : bytes[at] ^ (1 << random() % 8));
    }
    const Result<GgufFile> file =
        GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
    if (!file.ok()) continue;
    const Result<Tokenizer> tokenizer = Tokenizer::FromGguf(*file);
    ++(tokenizer.ok() ? accepted : refused);
    if (!tokenizer.ok()) {
      ASSERT_EQ(tokenizer.status().kind(), ErrorKind::kBadModel) << round;
      continue;
    }
    for (const std::string text : {"hello world, he'll", "AAAAAAA \xFF\n", "<|end|>\U0001F408"}) {
      std::string joined;
      for (const int32_t id : tokenizer->Encode(text, true)) joined += tokenizer->Piece(id, true);
      ASSERT_EQ(joined, text) << round;
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 3000);
}

}  // namespace
}  // namespace fg
