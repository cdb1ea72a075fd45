// The shapes that `fg-engine synth` knows: their keys, vocabularies and tensors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/gguf/gguf_writer.h"

namespace fg {

struct SynthShape {
  const char* name;
  int64_t layers, width, ffn, heads, kv_heads, head_dim, vocabulary;
  bool tied_output;  // no output.weight
  int64_t context;
};

std::span<const SynthShape> AllSynthShapes();

struct SynthTensor {
  std::string name;
  std::vector<uint64_t> shape;  // innermost first
  // 1-D: values are centre + spread * u with u in [-1, 1). 2-D: `spread` is the standard deviation.
  float centre, spread;
};

// In the order of the file.
std::vector<SynthTensor> SynthTensors(const SynthShape& shape);

// Architecture, sizes and a byte-level BPE vocabulary without merges: tokens 0 to 255 are the
// bytes, 256 ends a text, the rest are fillers of kind "unused".
void SetSynthKeys(const SynthShape& shape, uint32_t file_type, GgufWriter* writer);

}  // namespace fg
