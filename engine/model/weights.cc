#include "engine/model/weights.h"

#include "engine/model/tensor_names.h"

namespace fg {
namespace {

namespace names = tensor_names;

// What a model must hold.
struct Expected {
  std::string name;
  int64_t k, out;
  WeightRole role;
};

void AddLayer(const ModelShape& shape, int64_t layer, std::vector<Expected>* list) {
  const auto add = [&](const char* part, int64_t k, int64_t out, WeightRole role) {
    list->push_back({names::OfLayer(layer, part), k, out, role});
  };
  const WeightRole ffn_role = layer + 1 == shape.layers ? WeightRole::kTail : WeightRole::kW16;
  add(names::kAttentionNorm, shape.width, 1, WeightRole::kVector);
  add(names::kQuery, shape.width, shape.query_width(), WeightRole::kW16);
  add(names::kKey, shape.width, shape.kv_width(), WeightRole::kW16);
  add(names::kValue, shape.width, shape.kv_width(), WeightRole::kW16);
  add(names::kQueryBias, shape.query_width(), 1, WeightRole::kVector);
  add(names::kKeyBias, shape.kv_width(), 1, WeightRole::kVector);
  add(names::kValueBias, shape.kv_width(), 1, WeightRole::kVector);
  add(names::kAttentionOutput, shape.query_width(), shape.width, WeightRole::kW16);
  add(names::kFfnNorm, shape.width, 1, WeightRole::kVector);
  add(names::kFfnGate, shape.width, shape.ffn, ffn_role);
  add(names::kFfnUp, shape.width, shape.ffn, ffn_role);
  add(names::kFfnDown, shape.ffn, shape.width, ffn_role);
}

std::string ShapeText(const std::vector<uint64_t>& shape) {
  std::string text = "[";
  for (const uint64_t dimension : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(dimension);
  }
  return text + "]";
}

std::vector<uint64_t> ShapeOf(const Expected& expected) {
  std::vector<uint64_t> shape = {static_cast<uint64_t>(expected.k)};
  if (expected.role != WeightRole::kVector) shape.push_back(static_cast<uint64_t>(expected.out));
  return shape;
}

Status Bad(const std::string& message) { return Status(ErrorKind::kBadModel, message); }

Result<ModelWeight> Take(const GgufFile& file, const Expected& expected) {
  const std::vector<uint64_t> shape = ShapeOf(expected);
  const GgufTensor* tensor = file.FindTensor(expected.name);
  if (tensor == nullptr) {
    return Bad("missing tensor '" + expected.name + "' of shape " + ShapeText(shape));
  }
  const std::string subject = "tensor '" + expected.name + "': ";
  if (tensor->shape != shape) {
    return Bad(subject + "expected shape " + ShapeText(shape) + ", found " +
               ShapeText(tensor->shape));
  }
  const TensorTypeInfo& info = InfoOf(tensor->type);
  if (expected.role == WeightRole::kVector && tensor->type != TensorType::kF32) {
    return Bad(subject + "expected type f32, found " + info.name);
  }
  if (!info.computable) {
    return Bad(subject + "this engine has no kernels for type " + info.name);
  }
  return ModelWeight{{expected.name, tensor->type, tensor->data, expected.k, expected.out},
                     expected.role};
}

}  // namespace

Result<ModelWeights> ModelWeights::Read(const GgufFile& file, const ModelShape& shape) {
  ModelWeights weights;
  const auto take = [&](const Expected& expected) -> Status {
    FG_ASSIGN_OR_RETURN(ModelWeight weight, Take(file, expected));
    weights.index_[expected.name] = weights.all_.size();
    weights.all_.push_back(std::move(weight));
    return Status::Ok();
  };
  FG_RETURN_IF_ERROR(
      take({names::kTokenEmbedding, shape.width, shape.vocabulary, WeightRole::kLookup}));
  // Layer by layer, so that a hostile number of layers ends at the first that is not there.
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    std::vector<Expected> list;
    AddLayer(shape, layer, &list);
    for (const Expected& expected : list) FG_RETURN_IF_ERROR(take(expected));
  }
  FG_RETURN_IF_ERROR(take({names::kOutputNorm, shape.width, 1, WeightRole::kVector}));
  if (!shape.tied_output) {
    FG_RETURN_IF_ERROR(take({names::kOutput, shape.width, shape.vocabulary, WeightRole::kTail}));
  }
  // A tensor that goes unread (a bias, a RoPE factor) would make the answer wrong without a word.
  for (const GgufTensor& tensor : file.tensors()) {
    if (!weights.index_.contains(tensor.name)) {
      return Bad("tensor '" + tensor.name + "' is no part of a qwen2 model of " +
                 std::to_string(shape.layers) + " layers");
    }
  }
  return weights;
}

const ModelWeight* ModelWeights::Find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &all_[found->second];
}

std::map<std::string, int> ModelWeights::W16PerType() const {
  std::map<std::string, int> count;
  for (const ModelWeight& weight : all_) {
    if (weight.role == WeightRole::kW16) ++count[InfoOf(weight.view.type).name];
  }
  return count;
}

std::map<std::string, int64_t> ModelWeights::W16ValuesPerType() const {
  std::map<std::string, int64_t> values;
  for (const ModelWeight& weight : all_) {
    if (weight.role != WeightRole::kW16) continue;
    values[InfoOf(weight.view.type).name] += weight.view.k * weight.view.out;
  }
  return values;
}

}  // namespace fg
