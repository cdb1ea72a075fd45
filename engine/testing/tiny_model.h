// Small qwen2 models with seeded random weights, for tests.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/gguf/gguf.h"
#include "engine/gguf/gguf_writer.h"
#include "engine/model/hyperparameters.h"
#include "kernels/formats/tensor_type.h"

namespace fg::testing {

struct TinyModelSpec {
  ModelShape shape = {.layers = 2,
                      .width = 64,
                      .ffn = 96,
                      .heads = 4,
                      .kv_heads = 2,
                      .head_dim = 16,
                      .vocabulary = 261,  // odd: no multiple of any kernel's block
                      .tied_output = false};
  int64_t context = 96;
  uint64_t seed = 1;
  TensorType type = TensorType::kF32;            // of every matrix
  std::map<std::string, TensorType> types = {};  // of matrices whose name ends so, instead
  // Called on each tensor's values before they are encoded.
  std::function<void(const std::string& name, std::vector<float>* values)> edit = {};
  // Called on the writer after the model's own keys, before the tensors.
  std::function<void(GgufWriter*)> keys = {};
  // Tensors that are left out or renamed (to "" or the new name).
  std::map<std::string, std::string> renamed = {};
};

// Width 256 and ffn 512, so that every type fits.
TinyModelSpec WideSpec(TensorType type);

// The file's bytes. Aborts on a spec that cannot be written.
std::string TinyModelBytes(const TinyModelSpec& spec);

// Writes it under the test's temporary folder and returns its path, unique to test and call.
std::string WriteTinyModel(const TinyModelSpec& spec);

// `count` seeded ids in [0, 256).
std::vector<int32_t> RandomTokens(size_t count, uint64_t seed);

inline constexpr int32_t kTinyEos = 256;

}  // namespace fg::testing
