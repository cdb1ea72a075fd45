#include "engine/model/hyperparameters.h"

#include <gtest/gtest.h>

#include <limits>

#include "engine/testing/tiny_model.h"

namespace fg {
namespace {

using testing::TinyModelBytes;
using testing::TinyModelSpec;

Result<Hyperparameters> Read(const TinyModelSpec& spec) {
  const std::string bytes = TinyModelBytes(spec);
  const auto file = GgufFile::Parse(std::as_bytes(std::span(bytes)));
  if (!file.ok()) return file.status();
  return ReadHyperparameters(*file);
}

// The message for the tiny model with one key set to something else.
std::string Refusal(const std::string& key, GgufValue value, TinyModelSpec spec = {}) {
  spec.keys = [&](GgufWriter* writer) { writer->SetKey(key, value); };
  const auto model = Read(spec);
  EXPECT_EQ(model.status().kind(), ErrorKind::kBadModel) << key;
  return model.status().message();
}

TEST(Hyperparameters, ReadsTheModelsNumbers) {
  TinyModelSpec spec;
  spec.shape.head_dim = 24;  // not width / heads
  spec.keys = [](GgufWriter* writer) {
    writer->SetKey("qwen2.rope.dimension_count", GgufU32(20));
    writer->SetKey("qwen2.rope.scaling.type", GgufString("none"));
    writer->SetKey("qwen2.vocab_size", GgufU32(261));
  };
  const auto model = Read(spec);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->shape, spec.shape);
  EXPECT_EQ(model->architecture, "qwen2");
  EXPECT_EQ(model->name, "tiny");
  EXPECT_EQ(model->context, 96);
  EXPECT_EQ(model->rope_dims, 20);
  EXPECT_EQ(model->rope_base, 10000.0);
  EXPECT_EQ(model->norm_epsilon, 1e-6f);
  spec.shape.tied_output = true;
  EXPECT_TRUE(Read(spec)->shape.tied_output);
}

// What the tiny model without `key` reads as.
Result<Hyperparameters> ReadWithout(const std::string& key, const TinyModelSpec& spec = {}) {
  std::string bytes = TinyModelBytes(spec);
  const size_t at = bytes.find(key);
  EXPECT_NE(at, std::string::npos);
  bytes[at] = '#';  // a key that nobody asks for
  const auto file = GgufFile::Parse(std::as_bytes(std::span(bytes)));
  if (!file.ok()) return file.status();
  return ReadHyperparameters(*file);
}

TEST(Hyperparameters, SomeKeysHaveDefaults) {
  EXPECT_EQ(ReadWithout("qwen2.attention.head_count_kv")->shape.kv_heads, 4);
  EXPECT_EQ(ReadWithout("qwen2.rope.freq_base")->rope_base, 10000.0);
  EXPECT_EQ(ReadWithout("general.name")->name, "");
}

TEST(Hyperparameters, NamesAMissingKey) {
  for (const char* key : {"general.architecture", "qwen2.block_count", "qwen2.context_length",
                          "qwen2.embedding_length", "qwen2.feed_forward_length",
                          "qwen2.attention.layer_norm_rms_epsilon", "tokenizer.ggml.tokens"}) {
    EXPECT_EQ(ReadWithout(key).status().message(), std::string("missing key '") + key + "'");
  }
}

TEST(Hyperparameters, RefusesAnotherArchitectureByName) {
  EXPECT_EQ(Refusal("general.architecture", GgufString("llama")),
            "general.architecture is 'llama'; this engine computes 'qwen2'");
}

TEST(Hyperparameters, RefusesNumbersThatCannotBe) {
  for (const char* key : {"block_count", "embedding_length", "feed_forward_length",
                          "context_length", "attention.head_count", "attention.head_count_kv",
                          "attention.key_length", "rope.dimension_count"}) {
    const std::string full = std::string("qwen2.") + key;
    EXPECT_EQ(Refusal(full, GgufU32(0)), "key '" + full + "' is 0; expected 1 to 16777216");
    EXPECT_EQ(Refusal(full, GgufU32(16777217)),
              "key '" + full + "' is 16777217; expected 1 to 16777216");
  }
}

TEST(Hyperparameters, RefusesHeadsThatDoNotFit) {
  EXPECT_EQ(Refusal("qwen2.attention.head_count_kv", GgufU32(3)),
            "key 'qwen2.attention.head_count_kv' is 3, which does not divide the 4 heads");
  EXPECT_EQ(
      Refusal("qwen2.attention.head_count", GgufU32(6)),
      "width 64 is no multiple of the 6 heads, and key 'qwen2.attention.key_length' is missing");
  EXPECT_EQ(Refusal("qwen2.attention.value_length", GgufU32(32)),
            "key 'qwen2.attention.value_length' is 32; expected the heads' 16");
  EXPECT_EQ(Refusal("qwen2.attention.key_length", GgufU32(15)),
            "a head of 15 values cannot be rotated in pairs");
}

TEST(Hyperparameters, RefusesWhatItWouldComputeWrong) {
  EXPECT_EQ(Refusal("qwen2.rope.scaling.type", GgufString("yarn")),
            "RoPE scaling 'yarn' (qwen2.rope.scaling.type) is not built");
  EXPECT_EQ(Refusal("qwen2.rope.scaling.factor", GgufF32(4.0f)),
            "RoPE scaling (qwen2.rope.scaling.factor) is not built");
  EXPECT_EQ(Refusal("qwen2.rope.scale_linear", GgufF32(2.0f)),
            "RoPE scaling (qwen2.rope.scale_linear) is not built");
  EXPECT_EQ(Refusal("qwen2.attention.sliding_window", GgufU32(32)),
            "a sliding window of 32 (qwen2.attention.sliding_window) is not built");
  EXPECT_EQ(Refusal("qwen2.rope.dimension_count", GgufU32(18)),
            "key 'qwen2.rope.dimension_count' is 18; expected an even number up to the head's 16");
  EXPECT_EQ(Refusal("qwen2.rope.dimension_count", GgufU32(7)),
            "key 'qwen2.rope.dimension_count' is 7; expected an even number up to the head's 16");
  EXPECT_EQ(Refusal("qwen2.rope.freq_base", GgufF32(0.0f)),
            "key 'qwen2.rope.freq_base' is 0.000000; expected a finite number above 0");
  EXPECT_EQ(Refusal("qwen2.rope.freq_base", GgufF32(std::numeric_limits<float>::infinity())),
            "key 'qwen2.rope.freq_base' is inf; expected a finite number above 0");
  EXPECT_EQ(
      Refusal("qwen2.attention.layer_norm_rms_epsilon",
              GgufF32(std::numeric_limits<float>::quiet_NaN())),
      "key 'qwen2.attention.layer_norm_rms_epsilon' is nan; expected a number between 0 and 1");
}

TEST(Hyperparameters, AWindowBeyondTheContextIsNone) {
  TinyModelSpec spec;
  spec.keys = [](GgufWriter* writer) {
    writer->SetKey("qwen2.attention.sliding_window", GgufU32(96));
  };
  EXPECT_TRUE(Read(spec).ok());
}

TEST(Hyperparameters, RefusesVocabulariesThatDiffer) {
  EXPECT_EQ(Refusal("qwen2.vocab_size", GgufU32(262)),
            "key 'qwen2.vocab_size' tells 262 tokens and tensor 'token_embd.weight' holds 261");
  EXPECT_EQ(Refusal("tokenizer.ggml.tokens", GgufStrings({"a", "b"})),
            "key 'tokenizer.ggml.tokens' tells 2 tokens and tensor 'token_embd.weight' holds 261");
  EXPECT_EQ(Refusal("tokenizer.ggml.tokens", GgufU32(1)),
            "key 'tokenizer.ggml.tokens' is no array");
  TinyModelSpec spec;
  spec.renamed = {{"token_embd.weight", ""}};
  EXPECT_EQ(Read(spec).status().message(), "missing tensor 'token_embd.weight'");
}

}  // namespace
}  // namespace fg
