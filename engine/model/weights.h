// The tensors of a qwen2 model by name and role, each held against the shape that the
// hyperparameters demand.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/gguf/gguf.h"
#include "engine/model/hyperparameters.h"
#include "engine/model/weight_view.h"

namespace fg {

enum class WeightRole {
  kLookup,  // token_embd; read by rows, and by the tail where the output is tied
  kTail,    // the last layer's ffn_gate, ffn_up, ffn_down, and output: at most 15 rows at a time
  kW16,     // every other matmul weight: what a forward of 16 rows or more reads
  kVector,  // norms and biases, f32: k values, out = 1
};

struct ModelWeight {
  WeightView view;  // into the bytes that the file was parsed from
  WeightRole role = WeightRole::kVector;
};

class ModelWeights {
 public:
  // kBadModel names the tensor: missing, of another shape (expected and found), of a type without
  // kernels, a vector that is not f32, or one that a qwen2 model does not have.
  static Result<ModelWeights> Read(const GgufFile& file, const ModelShape& shape);

  const std::vector<ModelWeight>& all() const { return all_; }
  const ModelWeight* Find(const std::string& name) const;  // null when there is none

  // How many weights of role kW16 there are of each type.
  std::map<std::string, int> W16PerType() const;
  // Values of those weights, per type name.
  std::map<std::string, int64_t> W16ValuesPerType() const;

 private:
  std::vector<ModelWeight> all_;
  std::map<std::string, size_t> index_;  // name to place in all_
};

}  // namespace fg
