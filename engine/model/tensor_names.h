// The names of a qwen2 model's tensors (docs/gguf.md "Keys of the architectures").
#pragma once

#include <cstdint>
#include <string>

namespace fg::tensor_names {

inline constexpr const char* kTokenEmbedding = "token_embd.weight";
inline constexpr const char* kOutputNorm = "output_norm.weight";
inline constexpr const char* kOutput = "output.weight";

// Parts of a layer.
inline constexpr const char* kAttentionNorm = "attn_norm.weight";
inline constexpr const char* kQuery = "attn_q.weight";
inline constexpr const char* kKey = "attn_k.weight";
inline constexpr const char* kValue = "attn_v.weight";
inline constexpr const char* kQueryBias = "attn_q.bias";
inline constexpr const char* kKeyBias = "attn_k.bias";
inline constexpr const char* kValueBias = "attn_v.bias";
inline constexpr const char* kAttentionOutput = "attn_output.weight";
inline constexpr const char* kFfnNorm = "ffn_norm.weight";
inline constexpr const char* kFfnGate = "ffn_gate.weight";
inline constexpr const char* kFfnUp = "ffn_up.weight";
inline constexpr const char* kFfnDown = "ffn_down.weight";

// "blk.N.PART"
inline std::string OfLayer(int64_t layer, const char* part) {
  return "blk." + std::to_string(layer) + "." + part;
}

}  // namespace fg::tensor_names
