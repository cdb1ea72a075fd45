#include "engine/gguf/mix.h"

#include <charconv>

namespace fg {
namespace {

// file_type: the numbers that other programs show as F32, F16, Q4_0 and Q4_K - Medium.
// What the weight-mix rule must meet, in one model each: another quantized type on the matrices of
// either half of a layer, and one matrix of f32.
constexpr MixException kMixed[] = {{"attn_output.weight", -1, TensorType::kQ8_0},
                                   {"ffn_gate.weight", -1, TensorType::kQ5_0}};
constexpr MixException kOneF32[] = {{"attn_output.weight", 1, TensorType::kF32}};

constexpr Mix kMixes[] = {
    {"q4_k_m", TensorType::kQ4_K, TensorType::kQ6_K, true, 15},
    {"mixed", TensorType::kQ4_K, TensorType::kQ6_K, true, 15, kMixed},
    {"q4_k_m_f32", TensorType::kQ4_K, TensorType::kQ6_K, true, 15, kOneF32},
    {"q4_0", TensorType::kQ4_0, TensorType::kQ6_K, false, 2},
    {"f16", TensorType::kF16, TensorType::kF16, false, 1},
    {"f32", TensorType::kF32, TensorType::kF32, false, 0},
};

// The layer of "blk.LAYER.PART", -1 for another name.
int64_t LayerOf(std::string_view name, std::string_view part) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix)) return -1;
  int64_t layer = -1;
  const char* end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + kPrefix.size(), end, layer);
  if (error != std::errc() || at == end || *at != '.') return -1;
  return std::string_view(at + 1, static_cast<size_t>(end - at - 1)) == part ? layer : -1;
}

// The type for rows that are no multiple of 256: the next one with blocks of 32, or f16.
TensorType FallbackOf(TensorType type) {
  switch (type) {
    case TensorType::kQ4_K:
      return TensorType::kQ5_0;
    case TensorType::kQ6_K:
      return TensorType::kQ8_0;
    default:
      return TensorType::kF16;
  }
}

TensorType WantedType(const Mix& mix, const MixModel& model, std::string_view name) {
  if (name == "output.weight" || (model.tied && name == "token_embd.weight")) return mix.table;
  for (const MixException& exception : mix.exceptions) {
    const int64_t layer = LayerOf(name, exception.part);
    if (layer >= 0 && (exception.layer == -1 || exception.layer == layer)) return exception.type;
  }
  if (!mix.lifts_layers) return mix.type;
  for (const char* part : {"attn_v.weight", "ffn_down.weight"}) {
    const int64_t layer = LayerOf(name, part);
    if (layer >= 0 && LayerIsLifted(layer, model.layers)) return TensorType::kQ6_K;
  }
  return mix.type;
}

bool Fits(TensorType type, uint64_t row) {
  return row % static_cast<uint64_t>(InfoOf(type).block_values) == 0;
}

MixChoice FitToRow(TensorType wanted, uint64_t row) {
  if (Fits(wanted, row)) return {wanted, ""};
  const TensorTypeInfo& info = InfoOf(wanted);
  std::string reason =
      std::string(info.name) + " needs rows of " + std::to_string(info.block_values) + "; ";
  TensorType type = FallbackOf(wanted);
  if (!Fits(type, row)) type = TensorType::kF16;
  return {type, reason + InfoOf(type).name + " used"};
}

}  // namespace

std::span<const Mix> AllMixes() { return kMixes; }

Result<MixModel> ReadMixModel(const Mix& mix, const GgufFile& file) {
  MixModel model;
  model.tied = file.FindTensor("output.weight") == nullptr;
  if (!mix.lifts_layers) return model;
  FG_ASSIGN_OR_RETURN(const std::string architecture, file.GetString("general.architecture"));
  const std::string key = architecture + ".block_count";
  FG_ASSIGN_OR_RETURN(const uint64_t layers, file.GetUnsigned(key));
  if (layers < 1 || layers > 65536) {
    return Status(ErrorKind::kBadModel,
                  "key '" + key + "' is " + std::to_string(layers) + "; it must be 1 to 65536");
  }
  model.layers = static_cast<int64_t>(layers);
  return model;
}

MixChoice ChooseType(const Mix& mix, const MixModel& model, const GgufTensor& tensor) {
  if (tensor.shape.size() == 1) return {TensorType::kF32, ""};
  if (tensor.shape.size() > 2) return {tensor.type, ""};
  return FitToRow(WantedType(mix, model, tensor.name), tensor.shape[0]);
}

bool LayerIsLifted(int64_t layer, int64_t layers) {
  return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

}  // namespace fg
