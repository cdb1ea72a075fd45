#include "engine/testing/tiny_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "base/file.h"
#include "base/testing/temp_dir.h"
#include "engine/tokenizer/byte_alphabet.h"
#include "kernels/formats/encode.h"

namespace fg::testing {
namespace {

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "tiny model: %s\n", message.c_str());
  std::abort();
}

// Uniform in [-1, 1), the same on every standard library.
float Uniform(std::mt19937_64& random) {
  return static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1.0);
}

struct Tensor {
  std::string name;
  std::vector<uint64_t> shape;
  float centre, spread;  // values are centre + spread * uniform
};

std::vector<Tensor> Tensors(const ModelShape& shape) {
  std::vector<Tensor> list;
  const auto matrix = [&](const std::string& name, int64_t k, int64_t out) {
    // Unit variance in, about unit variance out.
    const float spread = std::sqrt(3.0f / static_cast<float>(k));
    list.push_back({name, {static_cast<uint64_t>(k), static_cast<uint64_t>(out)}, 0.0f, spread});
  };
  const auto vector = [&](const std::string& name, int64_t n, float centre, float spread) {
    list.push_back({name, {static_cast<uint64_t>(n)}, centre, spread});
  };
  list.push_back({"token_embd.weight",
                  {static_cast<uint64_t>(shape.width), static_cast<uint64_t>(shape.vocabulary)},
                  0.0f,
                  1.5f});
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    const std::string blk = "blk." + std::to_string(layer) + ".";
    vector(blk + "attn_norm.weight", shape.width, 1.0f, 0.3f);
    matrix(blk + "attn_q.weight", shape.width, shape.query_width());
    matrix(blk + "attn_k.weight", shape.width, shape.kv_width());
    matrix(blk + "attn_v.weight", shape.width, shape.kv_width());
    vector(blk + "attn_q.bias", shape.query_width(), 0.0f, 0.5f);
    vector(blk + "attn_k.bias", shape.kv_width(), 0.0f, 0.5f);
    vector(blk + "attn_v.bias", shape.kv_width(), 0.0f, 0.5f);
    matrix(blk + "attn_output.weight", shape.query_width(), shape.width);
    vector(blk + "ffn_norm.weight", shape.width, 1.0f, 0.3f);
    matrix(blk + "ffn_gate.weight", shape.width, shape.ffn);
    matrix(blk + "ffn_up.weight", shape.width, shape.ffn);
    matrix(blk + "ffn_down.weight", shape.ffn, shape.width);
  }
  vector("output_norm.weight", shape.width, 1.0f, 0.3f);
  if (!shape.tied_output) matrix("output.weight", shape.width, shape.vocabulary);
  return list;
}

// 256 bytes, an end token, and normal tokens of two bytes with their merges.
void SetVocabulary(int64_t count, GgufWriter* writer) {
  std::vector<std::string> tokens, merges;
  std::vector<int64_t> kinds;
  const auto letter = [](int byte) { return ByteToLetter(static_cast<uint8_t>(byte)); };
  for (int byte = 0; byte < 256; ++byte) tokens.push_back(letter(byte));
  tokens.push_back("<|end|>");
  for (int second = 0; static_cast<int64_t>(tokens.size()) < count; ++second) {
    tokens.push_back(std::string("a").append(letter(second)));
    merges.push_back(std::string("a ").append(letter(second)));
  }
  for (size_t id = 0; id < tokens.size(); ++id) kinds.push_back(id == kTinyEos ? 3 : 1);
  writer->SetKey("tokenizer.ggml.model", GgufString("gpt2"));
  writer->SetKey("tokenizer.ggml.pre", GgufString("qwen2"));
  writer->SetKey("tokenizer.ggml.tokens", GgufStrings(std::move(tokens)));
  writer->SetKey("tokenizer.ggml.token_type", GgufI32s(std::move(kinds)));
  writer->SetKey("tokenizer.ggml.merges", GgufStrings(std::move(merges)));
  writer->SetKey("tokenizer.ggml.eos_token_id", GgufU32(kTinyEos));
}

void SetKeys(const TinyModelSpec& spec, GgufWriter* writer) {
  const auto count = [&](const char* key, int64_t value) {
    writer->SetKey(std::string("qwen2.") + key, GgufU32(static_cast<uint32_t>(value)));
  };
  writer->SetKey("general.architecture", GgufString("qwen2"));
  writer->SetKey("general.name", GgufString("tiny"));
  count("block_count", spec.shape.layers);
  count("context_length", spec.context);
  count("embedding_length", spec.shape.width);
  count("feed_forward_length", spec.shape.ffn);
  count("attention.head_count", spec.shape.heads);
  count("attention.head_count_kv", spec.shape.kv_heads);
  if (spec.shape.head_dim * spec.shape.heads != spec.shape.width) {
    count("attention.key_length", spec.shape.head_dim);
  }
  writer->SetKey("qwen2.attention.layer_norm_rms_epsilon", GgufF32(1e-6f));
  writer->SetKey("qwen2.rope.freq_base", GgufF32(10000.0f));
  SetVocabulary(spec.shape.vocabulary, writer);
}

TensorType TypeOf(const TinyModelSpec& spec, const Tensor& tensor) {
  if (tensor.shape.size() == 1) return TensorType::kF32;
  for (const auto& [ending, type] : spec.types) {
    if (tensor.name.ends_with(ending)) return type;
  }
  return spec.type;
}

std::string Encode(TensorType type, const Tensor& tensor, const std::vector<float>& values) {
  const int64_t k = static_cast<int64_t>(tensor.shape[0]);
  const int64_t row_bytes = RowBytes(type, k);
  const int64_t rows = static_cast<int64_t>(values.size()) / k;
  std::string data(static_cast<size_t>(rows * row_bytes), '\0');
  for (int64_t row = 0; row < rows; ++row) {
    if (!EncodeRow(type, values.data() + row * k, k, data.data() + row * row_bytes)) {
      Die("cannot encode " + tensor.name);
    }
  }
  return data;
}

}  // namespace

TinyModelSpec WideSpec(TensorType type) {
  TinyModelSpec spec;
  spec.shape.width = 256;
  spec.shape.ffn = 512;
  spec.shape.head_dim = 64;
  spec.type = type;
  return spec;
}

std::string TinyModelBytes(const TinyModelSpec& spec) {
  GgufWriter writer;
  SetKeys(spec, &writer);
  if (spec.keys) spec.keys(&writer);
  std::mt19937_64 random(spec.seed);
  std::vector<std::string> data;
  for (const Tensor& tensor : Tensors(spec.shape)) {
    uint64_t count = 1;
    for (const uint64_t dimension : tensor.shape) count *= dimension;
    std::vector<float> values(count);
    for (float& value : values) value = tensor.centre + tensor.spread * Uniform(random);
    if (spec.edit) spec.edit(tensor.name, &values);
    const auto renamed = spec.renamed.find(tensor.name);
    const std::string name = renamed == spec.renamed.end() ? tensor.name : renamed->second;
    if (name.empty()) continue;
    const TensorType type = TypeOf(spec, tensor);
    writer.AddTensor(name, type, tensor.shape);
    data.push_back(Encode(type, tensor, values));
  }
  return writer.Bytes(data);
}

std::string WriteTinyModel(const TinyModelSpec& spec) {
  static int calls = 0;
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(test->test_suite_name()) + "-" + test->name() + "-" +
                     std::to_string(calls++) + ".gguf";
  std::replace(name.begin(), name.end(), '/', '-');  // parameterized tests bear one
  const std::string path = fg::ProcessTempDir() + "/tiny-" + name;
  const Status status = WriteFileAtomic(path, TinyModelBytes(spec));
  if (!status.ok()) Die(status.message());
  return path;
}

std::vector<int32_t> RandomTokens(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random() & 255);
  return tokens;
}

}  // namespace fg::testing
