// The qwen2 forward as a list of nodes in build order, which is execution order. The topology is a
// function of GraphParams alone: no environment, no gate, no KV length. Positions, tokens and the
// KV cache are run-time inputs (engine/backend/backend.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/hyperparameters.h"

namespace fg {

enum class GraphOp {
  kEmbed,      // rows of token_embd for the forward's tokens
  kRmsNorm,    // inputs: x
  kMatmul,     // inputs: x; the bias, where there is one, is added by the kernel
  kRope,       // inputs: x; rotated to the forward's positions, in place where x dies here
  kKvStore,    // inputs: k, v; writes the layer's KV cache and no buffer
  kAttention,  // inputs: q, the layer's kv_store
  kAdd,        // inputs: a, b; in place where one dies here
  kSwiglu,     // inputs: gate, up
  kGather,     // inputs: x; rows first_row.. of it
};
const char* GraphOpName(GraphOp op);  // "embed", "rms_norm", ...

struct Node {
  GraphOp op = GraphOp::kEmbed;
  std::vector<int> inputs = {};        // indices of earlier nodes
  int64_t rows = 0, columns = 0;       // of the output, f32; columns 0: no buffer
  std::string weight = {}, bias = {};  // tensors by name; empty where there is none
  int64_t layer = -1;                  // whose KV cache: kKvStore, kAttention
  int64_t head_dim = 0;                // kRope, kAttention
  int64_t first_row = 0;               // kGather
  int64_t logits_row = -1;  // >= 0: the output goes to the forward's logits, from this row on

  // Whether the output takes room in the graph's pool.
  bool pooled() const { return columns > 0 && logits_row < 0; }
  bool operator==(const Node&) const = default;
};

struct GraphParams {
  ModelShape shape;
  int64_t rows = 0;    // tokens of the forward, at least 1
  int64_t wanted = 0;  // the last so many rows' logits, 0..rows
  int64_t gate = 0;    // planted: Fault::kGateInGraph puts a gate's mode here; else 0

  bool operator==(const GraphParams&) const = default;
};

struct Graph {
  GraphParams params;
  std::vector<Node> nodes;
  // 16 hex digits: of sha256 over operations, shapes, edges and tensor names.
  std::string identity;

  uint64_t bytes() const;  // memory that the graph takes, roughly
};

Graph BuildGraph(const GraphParams& params);

}  // namespace fg
