#include "engine/graph/graph.h"

#include <algorithm>
#include <cassert>

#include "base/sha256.h"
#include "engine/model/tensor_names.h"
#include "engine/phase.h"

namespace fg {
namespace {

namespace names = tensor_names;

class Builder {
 public:
  explicit Builder(const GraphParams& params) : shape_(params.shape), params_(params) {
    graph_.params = params;
  }

  Graph Build() {
    int hidden = Add({.op = GraphOp::kEmbed,
                      .rows = params_.rows,
                      .columns = shape_.width,
                      .weight = names::kTokenEmbedding});
    for (int64_t layer = 0; layer < shape_.layers; ++layer) {
      hidden = AttentionBlock(layer, hidden);
      if (layer + 1 < shape_.layers) hidden = FfnBlock(layer, hidden);
    }
    Tail(hidden);
    return std::move(graph_);
  }

 private:
  int Add(Node node) {
    graph_.nodes.push_back(std::move(node));
    return static_cast<int>(graph_.nodes.size()) - 1;
  }

  int64_t RowsOf(int node) const { return graph_.nodes[node].rows; }
  int64_t ColumnsOf(int node) const { return graph_.nodes[node].columns; }

  int Norm(int x, std::string weight) {
    return Add({.op = GraphOp::kRmsNorm,
                .inputs = {x},
                .rows = RowsOf(x),
                .columns = shape_.width,
                .weight = std::move(weight)});
  }

  int Matmul(int x, int64_t out, std::string weight, std::string bias = "") {
    return Add({.op = GraphOp::kMatmul,
                .inputs = {x},
                .rows = RowsOf(x),
                .columns = out,
                .weight = std::move(weight),
                .bias = std::move(bias)});
  }

  int Rope(int x) {
    return Add({.op = GraphOp::kRope,
                .inputs = {x},
                .rows = RowsOf(x),
                .columns = ColumnsOf(x),
                .head_dim = shape_.head_dim});
  }

  int Sum(int a, int b) {
    return Add({.op = GraphOp::kAdd, .inputs = {a, b}, .rows = RowsOf(a), .columns = ColumnsOf(a)});
  }

  // The residual row after the layer's attention.
  int AttentionBlock(int64_t layer, int hidden) {
    const auto name = [&](const char* part) { return names::OfLayer(layer, part); };
    const int norm = Norm(hidden, name(names::kAttentionNorm));
    // q, k and v stand next to each other and take their bias in the epilogue: a node between them
    // would end the life of the activation plane that they share.
    int q = Matmul(norm, shape_.query_width(), name(names::kQuery), name(names::kQueryBias));
    int k = Matmul(norm, shape_.kv_width(), name(names::kKey), name(names::kKeyBias));
    const int v = Matmul(norm, shape_.kv_width(), name(names::kValue), name(names::kValueBias));
    q = Rope(q);
    k = Rope(k);
    const int store =
        Add({.op = GraphOp::kKvStore, .inputs = {k, v}, .rows = RowsOf(k), .layer = layer});
    const int attention = Add({.op = GraphOp::kAttention,
                               .inputs = {q, store},
                               .rows = RowsOf(q),
                               .columns = shape_.query_width(),
                               .layer = layer,
                               .head_dim = shape_.head_dim});
    const int output = Matmul(attention, shape_.width, name(names::kAttentionOutput));
    return Sum(output, hidden);
  }

  int FfnBlock(int64_t layer, int hidden) {
    const auto name = [&](const char* part) { return names::OfLayer(layer, part); };
    const int norm = Norm(hidden, name(names::kFfnNorm));
    const int gate = Matmul(norm, shape_.ffn, name(names::kFfnGate));
    const int up = Matmul(norm, shape_.ffn, name(names::kFfnUp));
    const int product = Add({.op = GraphOp::kSwiglu,
                             .inputs = {gate, up},
                             .rows = RowsOf(gate),
                             .columns = shape_.ffn});
    const int down = Matmul(product, shape_.width, name(names::kFfnDown));
    return Sum(down, hidden);
  }

  // From the last layer's FFN on only the wanted rows run, in slices of at most kTailRows whatever
  // their number: a token's logits do not depend on how many were asked for.
  void Tail(int hidden) {
    const int64_t first_wanted = params_.rows - params_.wanted;
    for (int64_t done = 0; done < params_.wanted; done += kTailRows) {
      const int slice = Add({.op = GraphOp::kGather,
                             .inputs = {hidden},
                             .rows = std::min<int64_t>(kTailRows, params_.wanted - done),
                             .columns = shape_.width,
                             .first_row = first_wanted + done});
      const int last = FfnBlock(shape_.layers - 1, slice);
      const int norm = Norm(last, names::kOutputNorm);
      const int output = Matmul(norm, shape_.vocabulary,
                                shape_.tied_output ? names::kTokenEmbedding : names::kOutput);
      graph_.nodes[output].logits_row = done;
    }
  }

  const ModelShape shape_;
  const GraphParams params_;
  Graph graph_;
};

std::string Identity(const Graph& graph) {
  Sha256 hash;
  for (const Node& node : graph.nodes) {
    std::string line = GraphOpName(node.op);
    for (const int input : node.inputs) line.append(" @").append(std::to_string(input));
    for (const int64_t number :
         {node.rows, node.columns, node.layer, node.head_dim, node.first_row, node.logits_row}) {
      line.append(" ").append(std::to_string(number));
    }
    line.append(" ").append(node.weight).append(" ").append(node.bias).append("\n");
    hash.Update(line);
  }
  if (graph.params.gate != 0) hash.Update("gate " + std::to_string(graph.params.gate) + "\n");
  return hash.Hex().substr(0, 16);
}

}  // namespace

const char* GraphOpName(GraphOp op) {
  switch (op) {
    case GraphOp::kEmbed:
      return "embed";
    case GraphOp::kRmsNorm:
      return "rms_norm";
    case GraphOp::kMatmul:
      return "matmul";
    case GraphOp::kRope:
      return "rope";
    case GraphOp::kKvStore:
      return "kv_store";
    case GraphOp::kAttention:
      return "attention";
    case GraphOp::kAdd:
      return "add";
    case GraphOp::kSwiglu:
      return "swiglu";
    case GraphOp::kGather:
      return "gather";
  }
  return "";
}

uint64_t Graph::bytes() const {
  uint64_t bytes = sizeof(Graph) + nodes.capacity() * sizeof(Node);
  for (const Node& node : nodes) {
    bytes += node.inputs.capacity() * sizeof(int) + node.weight.capacity() + node.bias.capacity();
  }
  return bytes;
}

Graph BuildGraph(const GraphParams& params) {
  assert(params.rows >= 1 && params.wanted >= 0 && params.wanted <= params.rows);
  Graph graph = Builder(params).Build();
  graph.identity = Identity(graph);
  return graph;
}

}  // namespace fg
