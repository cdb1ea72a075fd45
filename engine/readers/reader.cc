#include "engine/readers/reader.h"

#include <charconv>
#include <cmath>
#include <span>
#include <string_view>

#include "base/sha256.h"

namespace fg {

const ValueStatistics& SeenNode::statistics() {
  if (!statistics_) {
    statistics_ =
        has_values() ? StatisticsOf({run_.values, bytes() / sizeof(float)}) : ValueStatistics();
  }
  return *statistics_;
}

const std::string& SeenNode::sha256() {
  if (!sha256_) {
    sha256_ = has_values() ? Sha256Hex({reinterpret_cast<const std::byte*>(run_.values), bytes()})
                           : std::string();
  }
  return *sha256_;
}

int64_t LayerOfNode(const Node& node) {
  constexpr std::string_view kPrefix = "blk.";
  if (node.layer >= 0 || !node.weight.starts_with(kPrefix)) return node.layer;
  int64_t layer = -1;
  std::from_chars(node.weight.data() + kPrefix.size(), node.weight.data() + node.weight.size(),
                  layer);
  return layer;
}

Json StatisticsJson(SeenNode& node) {
  if (!node.has_values()) return nullptr;
  const ValueStatistics& of = node.statistics();
  // The library writes a number that is not finite as null.
  return {{"count", of.count}, {"min", of.min}, {"max", of.max},
          {"mean", of.mean},   {"nan", of.nan}, {"infinite", of.infinite}};
}

std::string JsonLine(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fg
