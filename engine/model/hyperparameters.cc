#include "engine/model/hyperparameters.h"

#include <cmath>
#include <optional>

#include "engine/model/tensor_names.h"

namespace fg {
namespace {

// No model has more; below it no product of two of these numbers leaves 64 bits.
constexpr uint64_t kMostOfAnything = uint64_t{1} << 24;
constexpr const char* kArchitecture = "qwen2";

Status Bad(std::string message) { return Status(ErrorKind::kBadModel, std::move(message)); }

std::string Key(const char* rest) { return std::string(kArchitecture) + "." + rest; }

// The number under `key`, in 1..kMostOfAnything.
Result<int64_t> Count(const GgufFile& file, const std::string& key) {
  FG_ASSIGN_OR_RETURN(const uint64_t value, file.GetUnsigned(key));
  if (value < 1 || value > kMostOfAnything) {
    return Bad("key '" + key + "' is " + std::to_string(value) + "; expected 1 to " +
               std::to_string(kMostOfAnything));
  }
  return static_cast<int64_t>(value);
}

Result<int64_t> CountOr(const GgufFile& file, const std::string& key, int64_t otherwise) {
  if (file.FindKey(key) == nullptr) return otherwise;
  return Count(file, key);
}

Status CheckArchitecture(const GgufFile& file) {
  FG_ASSIGN_OR_RETURN(const std::string found, file.GetString("general.architecture"));
  if (found == kArchitecture) return Status::Ok();
  return Bad("general.architecture is '" + found + "'; this engine computes '" + kArchitecture +
             "'");
}

// Keys that change what a forward computes and that this build does not honour.
Status CheckNotScaled(const GgufFile& file) {
  const std::string prefix = Key("rope.scaling.");
  const std::string type_key = prefix + "type";
  std::string type;
  if (file.FindKey(type_key) != nullptr) {
    FG_ASSIGN_OR_RETURN(type, file.GetString(type_key));
    if (type != "none") return Bad("RoPE scaling '" + type + "' (" + type_key + ") is not built");
    return Status::Ok();
  }
  for (const auto& [key, value] : file.keys()) {
    if (key.starts_with(prefix) || key == Key("rope.scale_linear")) {
      return Bad("RoPE scaling (" + key + ") is not built");
    }
  }
  return Status::Ok();
}

Status CheckNoWindow(const GgufFile& file, int64_t context) {
  const std::string window_key = Key("attention.sliding_window");
  if (file.FindKey(window_key) == nullptr) return Status::Ok();
  FG_ASSIGN_OR_RETURN(const uint64_t window, file.GetUnsigned(window_key));
  if (window == 0 || window >= static_cast<uint64_t>(context)) return Status::Ok();
  return Bad("a sliding window of " + std::to_string(window) + " (" + window_key +
             ") is not built");
}

Status ReadHeads(const GgufFile& file, ModelShape* shape) {
  FG_ASSIGN_OR_RETURN(shape->heads, Count(file, Key("attention.head_count")));
  FG_ASSIGN_OR_RETURN(shape->kv_heads, CountOr(file, Key("attention.head_count_kv"), shape->heads));
  if (shape->heads % shape->kv_heads != 0) {
    return Bad("key '" + Key("attention.head_count_kv") + "' is " +
               std::to_string(shape->kv_heads) + ", which does not divide the " +
               std::to_string(shape->heads) + " heads");
  }
  const std::string length_key = Key("attention.key_length");
  if (file.FindKey(length_key) == nullptr && shape->width % shape->heads != 0) {
    return Bad("width " + std::to_string(shape->width) + " is no multiple of the " +
               std::to_string(shape->heads) + " heads, and key '" + length_key + "' is missing");
  }
  FG_ASSIGN_OR_RETURN(shape->head_dim, CountOr(file, length_key, shape->width / shape->heads));
  FG_ASSIGN_OR_RETURN(const int64_t value_length,
                      CountOr(file, Key("attention.value_length"), shape->head_dim));
  if (value_length != shape->head_dim) {
    return Bad("key '" + Key("attention.value_length") + "' is " + std::to_string(value_length) +
               "; expected the heads' " + std::to_string(shape->head_dim));
  }
  if (shape->head_dim % 2 != 0) {
    return Bad("a head of " + std::to_string(shape->head_dim) +
               " values cannot be rotated in pairs");
  }
  return Status::Ok();
}

Status ReadRope(const GgufFile& file, Hyperparameters* model) {
  FG_RETURN_IF_ERROR(CheckNotScaled(file));
  const std::string dims_key = Key("rope.dimension_count");
  FG_ASSIGN_OR_RETURN(model->rope_dims, CountOr(file, dims_key, model->shape.head_dim));
  if (model->rope_dims % 2 != 0 || model->rope_dims > model->shape.head_dim) {
    return Bad("key '" + dims_key + "' is " + std::to_string(model->rope_dims) +
               "; expected an even number up to the head's " +
               std::to_string(model->shape.head_dim));
  }
  const std::string base_key = Key("rope.freq_base");
  model->rope_base = 10000.0;
  if (file.FindKey(base_key) != nullptr) {
    FG_ASSIGN_OR_RETURN(model->rope_base, file.GetFloat(base_key));
  }
  if (!(model->rope_base > 0) || !std::isfinite(model->rope_base)) {
    return Bad("key '" + base_key + "' is " + std::to_string(model->rope_base) +
               "; expected a finite number above 0");
  }
  return Status::Ok();
}

Status ReadEpsilon(const GgufFile& file, Hyperparameters* model) {
  const std::string key = Key("attention.layer_norm_rms_epsilon");
  FG_ASSIGN_OR_RETURN(const double epsilon, file.GetFloat(key));
  model->norm_epsilon = static_cast<float>(epsilon);
  if (!(model->norm_epsilon > 0) || !(model->norm_epsilon < 1)) {
    return Bad("key '" + key + "' is " + std::to_string(epsilon) +
               "; expected a number between 0 and 1");
  }
  return Status::Ok();
}

// The embedding's rows, the tokens and the key must tell one vocabulary.
Status ReadVocabulary(const GgufFile& file, ModelShape* shape) {
  const GgufTensor* embedding = file.FindTensor(tensor_names::kTokenEmbedding);
  if (embedding == nullptr) {
    return Bad(std::string("missing tensor '") + tensor_names::kTokenEmbedding + "'");
  }
  if (embedding->shape.size() != 2 || embedding->shape[1] > kMostOfAnything) {
    return Bad(std::string("tensor '") + tensor_names::kTokenEmbedding +
               "' is no table of tokens: expected two dimensions");
  }
  shape->vocabulary = static_cast<int64_t>(embedding->shape[1]);
  const auto check = [&](const std::string& key, uint64_t count) {
    if (count == embedding->shape[1]) return Status::Ok();
    return Bad("key '" + key + "' tells " + std::to_string(count) + " tokens and tensor '" +
               tensor_names::kTokenEmbedding + "' holds " + std::to_string(embedding->shape[1]));
  };
  if (file.FindKey(Key("vocab_size")) != nullptr) {
    FG_ASSIGN_OR_RETURN(const uint64_t size, file.GetUnsigned(Key("vocab_size")));
    FG_RETURN_IF_ERROR(check(Key("vocab_size"), size));
  }
  const std::string tokens_key = "tokenizer.ggml.tokens";
  const GgufValue* tokens = file.FindKey(tokens_key);
  if (tokens == nullptr) return Bad("missing key '" + tokens_key + "'");
  const GgufArray* array = std::get_if<GgufArray>(&tokens->data);
  if (array == nullptr) return Bad("key '" + tokens_key + "' is no array");
  return check(tokens_key, array->size());
}

}  // namespace

Result<Hyperparameters> ReadHyperparameters(const GgufFile& file) {
  FG_RETURN_IF_ERROR(CheckArchitecture(file));
  Hyperparameters model;
  model.architecture = kArchitecture;
  if (file.FindKey("general.name") != nullptr) {
    FG_ASSIGN_OR_RETURN(model.name, file.GetString("general.name"));
  }
  ModelShape& shape = model.shape;
  FG_ASSIGN_OR_RETURN(shape.layers, Count(file, Key("block_count")));
  FG_ASSIGN_OR_RETURN(shape.width, Count(file, Key("embedding_length")));
  FG_ASSIGN_OR_RETURN(shape.ffn, Count(file, Key("feed_forward_length")));
  FG_ASSIGN_OR_RETURN(model.context, Count(file, Key("context_length")));
  FG_RETURN_IF_ERROR(CheckNoWindow(file, model.context));
  FG_RETURN_IF_ERROR(ReadHeads(file, &shape));
  FG_RETURN_IF_ERROR(ReadRope(file, &model));
  FG_RETURN_IF_ERROR(ReadEpsilon(file, &model));
  FG_RETURN_IF_ERROR(ReadVocabulary(file, &shape));
  shape.tied_output = file.FindTensor(tensor_names::kOutput) == nullptr;
  return model;
}

}  // namespace fg
