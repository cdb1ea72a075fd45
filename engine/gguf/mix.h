// Which type each tensor of a model gets. The rules: docs/gguf.md "Mixes".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "engine/gguf/gguf.h"
#include "kernels/formats/tensor_type.h"

namespace fg {

// Matrices that a mix gives a type of its own.
struct MixException {
  const char* part;  // "ffn_gate.weight" of blk.N
  int64_t layer;     // N, or -1 for every layer
  TensorType type;
};

struct Mix {
  const char* name;    // "q4_k_m"
  TensorType type;     // of a 2-D weight that no rule of the mix names
  TensorType table;    // of the output matrix, or of the embedding that serves as one
  bool lifts_layers;   // attn_v and ffn_down of some layers get q6_K
  uint32_t file_type;  // value of general.file_type
  std::span<const MixException> exceptions = {};
};

std::span<const Mix> AllMixes();

// What the rules ask of a file, found once.
struct MixModel {
  int64_t layers = 0;  // 0 where the mix does not ask
  bool tied = false;   // no output.weight: the embedding is the output matrix
};

// kBadModel where the mix needs the number of layers and the file does not tell it.
Result<MixModel> ReadMixModel(const Mix& mix, const GgufFile& file);

struct MixChoice {
  TensorType type;
  std::string fallback;  // why it is not what the mix asks for: "q4_K needs rows of 256; ..."
};

// 1-D tensors are f32, tensors of more than two dimensions stay as they are.
MixChoice ChooseType(const Mix& mix, const MixModel& model, const GgufTensor& tensor);

// Layer `layer` of `layers` is one of those whose attn_v and ffn_down q4_k_m gives more bits: the
// first eighth, the last eighth and every third between.
bool LayerIsLifted(int64_t layer, int64_t layers);

}  // namespace fg
