// Two dumps of the same forwards, held against each other node by node within a share of each row's
// largest value: what two devices owe each other, whose float sums have orders of their own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/status.h"
#include "gates/node_dump.h"

namespace flipgate {

struct LayerComparison {
  int64_t nodes = 0, values = 0;
  double worst = 0;  // largest deviation as a share of its row's largest value
  std::string worst_node;
  std::map<std::string, double> worst_by_op;
  std::optional<std::string> fault;  // the first node beyond the share, or with a NaN on one side
};

// Every node of `a` must be in `b` and the other way round, with the same place and shape. In a row
// that is zero in `b`, `a` must be zero. kIo: a file that cannot be read.
fg::Result<LayerComparison> CompareLayers(const NodeDump& a, const std::string& a_name,
                                          const NodeDump& b, const std::string& b_name,
                                          double share);

}  // namespace flipgate
