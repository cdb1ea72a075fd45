#include "engine/gates_table.h"

namespace fg {

const std::array<GateEntry, kGates>& GateTable() {
  static const std::array<GateEntry, kGates> table = {{
      {Gate::kMmq, "FG_MMQ", "switch", "other", {}},
      {Gate::kMmqRaw, "FG_MMQ_RAW", "switch", "same", {Gate::kMmq}},
      {Gate::kMmqRawNb, "FG_MMQ_RAW_NB", "switch", "same", {Gate::kMmq, Gate::kMmqRaw}},
  }};
  return table;
}

const char* GateStageName(GateStage stage) {
  return stage == GateStage::kPromoted ? "promoted" : "opt_in";
}

std::vector<std::string> GateNames() {
  std::vector<std::string> names;
  for (const GateEntry& entry : GateTable()) names.push_back(entry.name);
  return names;
}

}  // namespace fg
