#include "engine/probe/bench_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fg {
namespace {

std::string Short(int64_t parameters) {
  const double count = static_cast<double>(parameters);
  return count < 1e9 ? fmt::format("{:.1f}M", count / 1e6) : fmt::format("{:.1f}B", count / 1e9);
}

// The type that holds most values of the matmul weights of a prefill.
std::string MainType(const ModelWeights& weights) {
  const std::map<std::string, int64_t> values = weights.W16ValuesPerType();
  if (values.empty()) return "f32";
  return std::max_element(values.begin(), values.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

BenchWork WorkOf(const GgufFile& file, const Hyperparameters& model, const ModelWeights& weights) {
  const ModelShape& shape = model.shape;
  BenchWork work;
  for (const GgufTensor& tensor : file.tensors()) {
    work.parameters += static_cast<int64_t>(tensor.values());
    work.size_bytes += tensor.bytes;
  }
  for (const ModelWeight& weight : weights.all()) {
    const int64_t values = weight.view.k * weight.view.out;
    const bool output = weight.role == WeightRole::kLookup && shape.tied_output;
    if (weight.role == WeightRole::kW16) work.row_macs += values;
    if (weight.role == WeightRole::kTail || output) work.tail_macs += values;
    if (weight.role == WeightRole::kLookup && !output) continue;  // a row of it a token
    work.token_bytes +=
        static_cast<uint64_t>(weight.view.out * RowBytes(weight.view.type, weight.view.k));
  }
  work.position_bytes = static_cast<uint64_t>(shape.layers * shape.kv_width() * 2 * 2);
  work.position_macs = 2 * shape.layers * shape.query_width();
  work.model =
      fmt::format("{} {} {}", model.architecture, Short(work.parameters), MainType(weights));
  return work;
}

}  // namespace fg
