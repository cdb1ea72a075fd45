#include "gates/layer_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/file.h"

namespace flipgate {
namespace {

fg::Result<std::vector<float>> ReadValues(const DumpedNode& node) {
  FG_ASSIGN_OR_RETURN(const std::string bytes, fg::ReadFile(node.path));
  std::vector<float> values(static_cast<size_t>(node.rows * node.columns));
  if (bytes.size() != values.size() * sizeof(float))
    return fg::Status(fg::ErrorKind::kIo, node.path + ": its size changed since it was read");
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::string Named(const std::string& forward, const DumpedNode& node) {
  return fmt::format("{}, node {} ({}{}, layer {})", forward, node.index, node.op,
                     node.weight.empty() ? "" : " " + node.weight, node.layer);
}

// Deviation of two values as a share of `largest`; NaN where they cannot be compared.
double Share(float a, float b, double largest) {
  if (std::isnan(a) && std::isnan(b)) return 0;
  const double deviation = std::abs(static_cast<double>(a) - b);
  if (deviation == 0 || a == b) return 0;
  return largest > 0 ? deviation / largest : std::nan("");
}

class Comparison {
 public:
  Comparison(const std::string& a_name, const std::string& b_name, double share)
      : a_name_(a_name), b_name_(b_name), share_(share) {}

  fg::Status Hold(const std::string& forward, const DumpedNode& a, const DumpedNode& b) {
    FG_ASSIGN_OR_RETURN(const auto left, ReadValues(a));
    FG_ASSIGN_OR_RETURN(const auto right, ReadValues(b));
    ++result.nodes;
    result.values += static_cast<int64_t>(left.size());
    double worst = 0;
    for (int64_t row = 0; row < a.rows; ++row) {
      const size_t at = static_cast<size_t>(row * a.columns);
      double largest = 0;
      for (size_t i = at; i < at + static_cast<size_t>(a.columns); ++i) {
        if (std::isfinite(right[i]))
          largest = std::max(largest, static_cast<double>(std::abs(right[i])));
      }
      for (size_t i = at; i < at + static_cast<size_t>(a.columns); ++i) {
        const double share = Share(left[i], right[i], largest);
        if (!(share <= share_)) NoteFault(forward, a, row, i - at, left[i], right[i], share);
        if (share > worst) worst = share;
      }
    }
    double& of_op = result.worst_by_op[a.op];
    of_op = std::max(of_op, worst);
    if (worst > result.worst || result.worst_node.empty()) {
      result.worst = worst;
      result.worst_node = Named(forward, a);
    }
    return fg::Status::Ok();
  }

  LayerComparison result;

 private:
  void NoteFault(const std::string& forward, const DumpedNode& node, int64_t row, size_t column,
                 float left, float right, double share) {
    if (result.fault) return;
    result.fault = fmt::format(
        "{}, row {}, column {}: {} has {:.6g}, {} has {:.6g}, which is {:.3g} of the row's largest "
        "value; {:.3g} is allowed",
        Named(forward, node), row, column, a_name_, left, b_name_, right, share, share_);
  }

  const std::string &a_name_, &b_name_;
  const double share_;
};

}  // namespace

fg::Result<LayerComparison> CompareLayers(const NodeDump& a, const std::string& a_name,
                                          const NodeDump& b, const std::string& b_name,
                                          double share) {
  Comparison comparison(a_name, b_name, share);
  comparison.result.fault = PlaceDifference(a, a_name, b, b_name);
  if (comparison.result.fault) return std::move(comparison.result);
  for (const auto& [forward, nodes] : a) {
    for (const auto& [index, node] : nodes)
      FG_RETURN_IF_ERROR(comparison.Hold(forward, node, b.at(forward).at(index)));
  }
  return std::move(comparison.result);
}

}  // namespace flipgate
