#include "engine/model/weights.h"

#include <gtest/gtest.h>

#include "engine/testing/tiny_model.h"

namespace fg {
namespace {

using testing::TinyModelBytes;
using testing::TinyModelSpec;

// Keeps the bytes alive that the weights look into.
struct Loaded {
  explicit Loaded(const TinyModelSpec& spec, ModelShape shape)
      : bytes(TinyModelBytes(spec)),
        file(GgufFile::Parse(std::as_bytes(std::span(bytes)))),
        weights(ModelWeights::Read(*file, shape)) {}
  explicit Loaded(const TinyModelSpec& spec) : Loaded(spec, spec.shape) {}

  std::string bytes;
  Result<GgufFile> file;
  Result<ModelWeights> weights;
};

std::string Refusal(const TinyModelSpec& spec, const ModelShape& shape) {
  const Loaded loaded(spec, shape);
  EXPECT_EQ(loaded.weights.status().kind(), ErrorKind::kBadModel);
  return loaded.weights.status().message();
}

TEST(Weights, HaveShapesAndRoles) {
  TinyModelSpec spec;
  spec.types = {{"blk.0.attn_v.weight", TensorType::kF16}};
  const Loaded loaded(spec);
  ASSERT_TRUE(loaded.weights.ok()) << loaded.weights.status().message();
  const ModelWeights& weights = *loaded.weights;
  EXPECT_EQ(weights.all().size(), 3u + 2 * 12);
  const std::map<std::string, int> w16 = {{"f16", 1}, {"f32", 7 * 2 - 3 - 1}};
  EXPECT_EQ(weights.W16PerType(), w16);
  const std::map<std::string, int64_t> values = {
      {"f16", 64 * 32}, {"f32", 2 * (2 * 64 * 64 + 2 * 64 * 32) + 3 * 64 * 96 - 64 * 32}};
  EXPECT_EQ(weights.W16ValuesPerType(), values);
  const auto role = [&](const char* name) { return weights.Find(name)->role; };
  EXPECT_EQ(role("token_embd.weight"), WeightRole::kLookup);
  EXPECT_EQ(role("output.weight"), WeightRole::kTail);
  EXPECT_EQ(role("blk.1.ffn_down.weight"), WeightRole::kTail);
  EXPECT_EQ(role("blk.0.ffn_down.weight"), WeightRole::kW16);
  EXPECT_EQ(role("blk.1.attn_output.weight"), WeightRole::kW16);
  EXPECT_EQ(role("blk.1.attn_q.bias"), WeightRole::kVector);
  const WeightView& up = weights.Find("blk.0.ffn_up.weight")->view;
  EXPECT_EQ(up.k, 64);
  EXPECT_EQ(up.out, 96);
  EXPECT_EQ(up.data, loaded.file->FindTensor("blk.0.ffn_up.weight")->data);
  EXPECT_EQ(weights.Find("blk.2.ffn_up.weight"), nullptr);
}

TEST(Weights, ATiedModelHasNoOutput) {
  TinyModelSpec spec;
  spec.shape.tied_output = true;
  const Loaded loaded(spec);
  ASSERT_TRUE(loaded.weights.ok());
  EXPECT_EQ(loaded.weights->Find("output.weight"), nullptr);
}

TEST(Weights, NamesWhatIsMissing) {
  for (const auto& [name, shape] :
       std::map<std::string, std::string>{{"blk.0.attn_q.weight", "[64, 64]"},
                                          {"blk.1.attn_k.bias", "[32]"},
                                          {"output_norm.weight", "[64]"},
                                          {"blk.1.ffn_down.weight", "[96, 64]"}}) {
    TinyModelSpec spec;
    spec.renamed = {{name, ""}};
    EXPECT_EQ(Refusal(spec, spec.shape), "missing tensor '" + name + "' of shape " + shape);
  }
}

TEST(Weights, NamesWhatHasAnotherShape) {
  const TinyModelSpec spec;
  ModelShape shape = spec.shape;
  shape.ffn = 128;
  EXPECT_EQ(Refusal(spec, shape),
            "tensor 'blk.0.ffn_gate.weight': expected shape [64, 128], found [64, 96]");
  shape = spec.shape;
  shape.kv_heads = 1;
  EXPECT_EQ(Refusal(spec, shape),
            "tensor 'blk.0.attn_k.weight': expected shape [64, 16], found [64, 32]");
  shape = spec.shape;
  shape.vocabulary = 260;
  EXPECT_EQ(Refusal(spec, shape),
            "tensor 'token_embd.weight': expected shape [64, 260], found [64, 261]");
  shape = spec.shape;
  shape.layers = 1 << 24;
  EXPECT_EQ(Refusal(spec, shape), "missing tensor 'blk.2.attn_norm.weight' of shape [64]");
}

TEST(Weights, NamesWhatIsNoPartOfTheModel) {
  const TinyModelSpec spec;
  ModelShape shape = spec.shape;
  shape.layers = 1;
  EXPECT_EQ(Refusal(spec, shape),
            "tensor 'blk.1.attn_norm.weight' is no part of a qwen2 model of 1 layers");
  TinyModelSpec renamed;
  renamed.renamed = {{"output.weight", "rope_freqs.weight"}};
  ModelShape tied = renamed.shape;
  tied.tied_output = true;
  EXPECT_EQ(Refusal(renamed, tied),
            "tensor 'rope_freqs.weight' is no part of a qwen2 model of 2 layers");
}

// A hand-made table: our writer encodes no other type.
TEST(Weights, NamesTypesThatItCannotCompute) {
  const auto refusal = [](TensorType embedding, TensorType norm) {
    GgufWriter file;
    file.AddTensor("token_embd.weight", embedding, {256, 4});
    file.AddTensor("blk.0.attn_norm.weight", norm, {256});
    const std::vector<std::string> data = {std::string(4 * RowBytes(embedding, 256), '\0'),
                                           std::string(RowBytes(norm, 256), '\0')};
    const std::string bytes = file.Bytes(data);
    const auto parsed = GgufFile::Parse(std::as_bytes(std::span(bytes)));
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    ModelShape shape = {.layers = 1,
                        .width = 256,
                        .ffn = 256,
                        .heads = 4,
                        .kv_heads = 4,
                        .head_dim = 64,
                        .vocabulary = 4,
                        .tied_output = true};
    return ModelWeights::Read(*parsed, shape).status().message();
  };
  EXPECT_EQ(refusal(TensorType::kQ5_K, TensorType::kF32),
            "tensor 'token_embd.weight': this engine has no kernels for type q5_K");
  EXPECT_EQ(refusal(TensorType::kQ4_K, TensorType::kF16),
            "tensor 'blk.0.attn_norm.weight': expected type f32, found f16");
}

}  // namespace
}  // namespace fg
