// The numbers of a qwen2 model, read from a file's keys and checked.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "engine/gguf/gguf.h"

namespace fg {

// What decides a model's graph, but for the number of rows.
struct ModelShape {
  int64_t layers = 0;
  int64_t width = 0;     // values of a hidden row
  int64_t ffn = 0;       // values of a row between gate/up and down
  int64_t heads = 0;     // of queries
  int64_t kv_heads = 0;  // divides heads
  int64_t head_dim = 0;  // even
  int64_t vocabulary = 0;
  bool tied_output = false;  // no output.weight: token_embd serves

  int64_t query_width() const { return heads * head_dim; }
  int64_t kv_width() const { return kv_heads * head_dim; }
  bool operator==(const ModelShape&) const = default;
};

struct Hyperparameters {
  std::string architecture;
  std::string name;  // general.name, may be empty
  ModelShape shape;
  int64_t context = 0;    // positions the model was made for
  int64_t rope_dims = 0;  // even, at most head_dim
  double rope_base = 0;
  float norm_epsilon = 0;
};

// kBadModel names the key at fault: another architecture than qwen2, a number that cannot be (no
// heads, kv heads that do not divide them), a vocabulary that differs between key, tokens and
// embedding, and what this build does not compute (RoPE scaling, a sliding window, a part of a
// split model).
Result<Hyperparameters> ReadHyperparameters(const GgufFile& file);

}  // namespace fg
