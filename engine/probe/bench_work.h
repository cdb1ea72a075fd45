// What a test of `fg-engine bench` computes and reads, for the shares of what a machine can do.
// docs/bench.md.
#pragma once

#include <cstdint>
#include <string>

#include "engine/gguf/gguf.h"
#include "engine/model/hyperparameters.h"
#include "engine/model/weights.h"

namespace fg {

struct BenchWork {
  std::string model;        // "qwen2 1.5B q4_K": architecture, parameters, type of most weights
  int64_t parameters = 0;   // values of all tensors
  uint64_t size_bytes = 0;  // of all tensors' data
  // Multiply-adds of the matmuls of each row of a forward, and of each row whose logits are wanted.
  int64_t row_macs = 0, tail_macs = 0;
  // Read for each token of a decode: every matmul weight and vector once, a tied table too.
  uint64_t token_bytes = 0;
  uint64_t position_bytes = 0;  // read for each position that a token attends to: keys and values
  int64_t position_macs = 0;    // computed for each: not in the shares, which are of int8

  // A prefill of `tokens` rows, the last one's logits wanted.
  int64_t PrefillMacs(int64_t tokens) const { return tokens * row_macs + tail_macs; }
  // `rows` tokens one after another behind `depth` positions; each attends to itself too.
  int64_t AttentionMacs(int64_t depth, int64_t rows) const {
    return position_macs * Attended(depth, rows);
  }
  uint64_t DecodeBytes(int64_t depth, int64_t tokens) const {
    return static_cast<uint64_t>(tokens) * token_bytes +
           static_cast<uint64_t>(Attended(depth, tokens)) * position_bytes;
  }

 private:
  static int64_t Attended(int64_t depth, int64_t rows) {
    return rows * depth + rows * (rows + 1) / 2;
  }
};

BenchWork WorkOf(const GgufFile& file, const Hyperparameters& model, const ModelWeights& weights);

}  // namespace fg
