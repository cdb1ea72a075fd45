#include "engine/gguf/synth_shape.h"

#include <cmath>
#include <utility>

#include "engine/tokenizer/byte_alphabet.h"

namespace fg {
namespace {

// As the models of these names were published. `narrow` is none: its rows are no multiple of 256.
constexpr SynthShape kShapes[] = {
    {"qwen2.5-0.5b", 24, 896, 4864, 14, 2, 64, 151936, true, 32768},
    {"qwen2.5-1.5b", 28, 1536, 8960, 12, 2, 128, 151936, true, 32768},
    {"qwen2.5-7b", 28, 3584, 18944, 28, 4, 128, 152064, false, 32768},
    {"narrow", 2, 320, 832, 5, 1, 64, 512, false, 1024},
};

constexpr uint32_t kEndToken = 256;
constexpr uint32_t kQuantizationVersion = 2;
constexpr int64_t kNormal = 1, kControl = 3, kUnused = 5;  // tokenizer.ggml.token_type

class TensorList {
 public:
  // Unit variance in gives about unit variance out, so that activations stay finite.
  void Matrix(std::string name, int64_t k, int64_t out) {
    list_.push_back({std::move(name),
                     {static_cast<uint64_t>(k), static_cast<uint64_t>(out)},
                     0,
                     1.0f / std::sqrt(static_cast<float>(k))});
  }
  void Norm(std::string name, int64_t n) {
    list_.push_back({std::move(name), {static_cast<uint64_t>(n)}, 1.0f, 0.25f});
  }
  void Bias(std::string name, int64_t n) {
    list_.push_back({std::move(name), {static_cast<uint64_t>(n)}, 0, 0.25f});
  }
  std::vector<SynthTensor> Take() { return std::move(list_); }

 private:
  std::vector<SynthTensor> list_;
};

void SetVocabulary(int64_t count, GgufWriter* writer) {
  std::vector<std::string> tokens;
  std::vector<int64_t> kinds;
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(ByteToLetter(static_cast<uint8_t>(byte)));
    kinds.push_back(kNormal);
  }
  tokens.push_back("<|endoftext|>");
  kinds.push_back(kControl);
  while (static_cast<int64_t>(tokens.size()) < count) {
    tokens.push_back("[unused " + std::to_string(tokens.size()) + "]");
    kinds.push_back(kUnused);
  }
  writer->SetKey("tokenizer.ggml.model", GgufString("gpt2"));
  writer->SetKey("tokenizer.ggml.pre", GgufString("qwen2"));
  writer->SetKey("tokenizer.ggml.tokens", GgufStrings(std::move(tokens)));
  writer->SetKey("tokenizer.ggml.token_type", GgufI32s(std::move(kinds)));
  writer->SetKey("tokenizer.ggml.merges", GgufStrings({}));
  writer->SetKey("tokenizer.ggml.eos_token_id", GgufU32(kEndToken));
  writer->SetKey("tokenizer.ggml.add_bos_token", GgufBool(false));
}

}  // namespace

std::span<const SynthShape> AllSynthShapes() { return kShapes; }

std::vector<SynthTensor> SynthTensors(const SynthShape& shape) {
  const int64_t query_width = shape.heads * shape.head_dim;
  const int64_t kv_width = shape.kv_heads * shape.head_dim;
  TensorList list;
  list.Matrix("token_embd.weight", shape.width, shape.vocabulary);
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    const std::string blk = "blk." + std::to_string(layer) + ".";
    list.Norm(blk + "attn_norm.weight", shape.width);
    list.Matrix(blk + "attn_q.weight", shape.width, query_width);
    list.Bias(blk + "attn_q.bias", query_width);
    list.Matrix(blk + "attn_k.weight", shape.width, kv_width);
    list.Bias(blk + "attn_k.bias", kv_width);
    list.Matrix(blk + "attn_v.weight", shape.width, kv_width);
    list.Bias(blk + "attn_v.bias", kv_width);
    list.Matrix(blk + "attn_output.weight", query_width, shape.width);
    list.Norm(blk + "ffn_norm.weight", shape.width);
    list.Matrix(blk + "ffn_gate.weight", shape.width, shape.ffn);
    list.Matrix(blk + "ffn_up.weight", shape.width, shape.ffn);
    list.Matrix(blk + "ffn_down.weight", shape.ffn, shape.width);
  }
  list.Norm("output_norm.weight", shape.width);
  if (!shape.tied_output) list.Matrix("output.weight", shape.width, shape.vocabulary);
  return list.Take();
}

void SetSynthKeys(const SynthShape& shape, uint32_t file_type, GgufWriter* writer) {
  const auto count = [&](const char* key, int64_t value) {
    writer->SetKey(std::string("qwen2.") + key, GgufU32(static_cast<uint32_t>(value)));
  };
  writer->SetKey("general.architecture", GgufString("qwen2"));
  writer->SetKey("general.name", GgufString(std::string("synthetic ") + shape.name));
  writer->SetKey("general.file_type", GgufU32(file_type));
  writer->SetKey("general.quantization_version", GgufU32(kQuantizationVersion));
  count("block_count", shape.layers);
  count("context_length", shape.context);
  count("embedding_length", shape.width);
  count("feed_forward_length", shape.ffn);
  count("attention.head_count", shape.heads);
  count("attention.head_count_kv", shape.kv_heads);
  writer->SetKey("qwen2.attention.layer_norm_rms_epsilon", GgufF32(1e-6f));
  writer->SetKey("qwen2.rope.freq_base", GgufF32(1000000.0f));
  SetVocabulary(shape.vocabulary, writer);
}

}  // namespace fg
