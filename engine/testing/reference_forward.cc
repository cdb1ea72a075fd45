#include "engine/testing/reference_forward.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/formats/dequantize.h"

namespace fg::testing {
namespace {

using Row = std::vector<double>;
using Matrix = std::vector<Row>;  // rows

class Model {
 public:
  explicit Model(const GgufFile& file) : file_(file) {}

  int64_t Number(const char* key) const {
    return static_cast<int64_t>(file_.GetUnsigned(std::string("qwen2.") + key).value());
  }
  double Real(const char* key) const { return file_.GetFloat(std::string("qwen2.") + key).value(); }
  bool Has(const std::string& name) const { return file_.FindTensor(name) != nullptr; }

  Matrix Read(const std::string& name) const {
    const GgufTensor& tensor = *file_.FindTensor(name);
    const int64_t k = static_cast<int64_t>(tensor.shape[0]);
    const int64_t rows = static_cast<int64_t>(tensor.values()) / k;
    Matrix matrix(rows, Row(k));
    for (int64_t row = 0; row < rows; ++row) {
      DequantizeRowExact(tensor.type, tensor.data + row * RowBytes(tensor.type, k), k,
                         matrix[row].data());
    }
    return matrix;
  }

 private:
  const GgufFile& file_;
};

Row Times(const Matrix& weight, const Row& x, const Row& bias = {}) {
  Row y(weight.size());
  for (size_t o = 0; o < weight.size(); ++o) {
    double sum = bias.empty() ? 0.0 : bias[o];
    for (size_t k = 0; k < x.size(); ++k) sum += weight[o][k] * x[k];
    y[o] = sum;
  }
  return y;
}

Row Norm(const Row& x, const Row& weight, double epsilon) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  const double scale = 1.0 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
  Row y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale * weight[i];
  return y;
}

void Rotate(Row& x, int64_t head_dim, int64_t position, double base) {
  const int64_t half = head_dim / 2;
  for (size_t head = 0; head < x.size(); head += head_dim) {
    for (int64_t i = 0; i < half; ++i) {
      const double angle =
          static_cast<double>(position) *
          std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
      const double a = x[head + i], b = x[head + i + half];
      x[head + i] = a * std::cos(angle) - b * std::sin(angle);
      x[head + i + half] = b * std::cos(angle) + a * std::sin(angle);
    }
  }
}

// Causal attention of the row at `position` over keys and values up to it.
Row Attend(const Row& q, const Matrix& keys, const Matrix& values, size_t position,
           int64_t head_dim, size_t heads_per_kv) {
  Row y(q.size(), 0.0);
  for (size_t head = 0; head < q.size() / head_dim; ++head) {
    const size_t kv = head / heads_per_kv * head_dim;
    Row scores(position + 1);
    for (size_t p = 0; p <= position; ++p) {
      for (int64_t i = 0; i < head_dim; ++i) scores[p] += q[head * head_dim + i] * keys[p][kv + i];
      scores[p] /= std::sqrt(static_cast<double>(head_dim));
    }
    const double max = *std::max_element(scores.begin(), scores.end());
    double total = 0;
    for (double& score : scores) total += score = std::exp(score - max);
    for (size_t p = 0; p <= position; ++p) {
      for (int64_t i = 0; i < head_dim; ++i) {
        y[head * head_dim + i] += scores[p] / total * values[p][kv + i];
      }
    }
  }
  return y;
}

void AddTo(Row& x, const Row& y) {
  for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

void AttentionBlock(const Model& model, const std::string& blk, Matrix& hidden) {
  const int64_t heads = model.Number("attention.head_count");
  const int64_t kv_heads = model.Number("attention.head_count_kv");
  const Matrix wq = model.Read(blk + "attn_q.weight"), wk = model.Read(blk + "attn_k.weight"),
               wv = model.Read(blk + "attn_v.weight"), wo = model.Read(blk + "attn_output.weight");
  const Row bq = model.Read(blk + "attn_q.bias")[0], bk = model.Read(blk + "attn_k.bias")[0],
            bv = model.Read(blk + "attn_v.bias")[0];
  const Row norm = model.Read(blk + "attn_norm.weight")[0];
  const int64_t head_dim = static_cast<int64_t>(wq.size()) / heads;
  Matrix queries, keys, values;
  for (size_t position = 0; position < hidden.size(); ++position) {
    const Row x = Norm(hidden[position], norm, model.Real("attention.layer_norm_rms_epsilon"));
    queries.push_back(Times(wq, x, bq));
    keys.push_back(Times(wk, x, bk));
    values.push_back(Times(wv, x, bv));
    Rotate(queries.back(), head_dim, position, model.Real("rope.freq_base"));
    Rotate(keys.back(), head_dim, position, model.Real("rope.freq_base"));
  }
  for (size_t position = 0; position < hidden.size(); ++position) {
    AddTo(hidden[position],
          Times(wo, Attend(queries[position], keys, values, position, head_dim, heads / kv_heads)));
  }
}

void FfnBlock(const Model& model, const std::string& blk, Matrix& hidden) {
  const Matrix gate = model.Read(blk + "ffn_gate.weight"), up = model.Read(blk + "ffn_up.weight"),
               down = model.Read(blk + "ffn_down.weight");
  const Row norm = model.Read(blk + "ffn_norm.weight")[0];
  for (Row& row : hidden) {
    const Row x = Norm(row, norm, model.Real("attention.layer_norm_rms_epsilon"));
    Row g = Times(gate, x);
    const Row u = Times(up, x);
    for (size_t i = 0; i < g.size(); ++i) g[i] = g[i] / (1.0 + std::exp(-g[i])) * u[i];
    AddTo(row, Times(down, g));
  }
}

}  // namespace

std::vector<std::vector<double>> ReferenceForward(const GgufFile& file,
                                                  std::span<const int32_t> tokens) {
  const Model model(file);
  const Matrix embedding = model.Read("token_embd.weight");
  Matrix hidden;
  for (const int32_t token : tokens) hidden.push_back(embedding[token]);
  for (int64_t layer = 0; layer < model.Number("block_count"); ++layer) {
    const std::string blk = "blk." + std::to_string(layer) + ".";
    AttentionBlock(model, blk, hidden);
    FfnBlock(model, blk, hidden);
  }
  const Row norm = model.Read("output_norm.weight")[0];
  const Matrix output = model.Has("output.weight") ? model.Read("output.weight") : embedding;
  Matrix logits;
  for (const Row& row : hidden) {
    logits.push_back(
        Times(output, Norm(row, norm, model.Real("attention.layer_norm_rms_epsilon"))));
  }
  return logits;
}

}  // namespace fg::testing
