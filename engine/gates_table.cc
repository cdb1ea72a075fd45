#include "engine/gates_table.h"

namespace fg {

const std::array<GateEntry, kGates>& GateTable() {
  using enum Gate;
  static const std::array<GateEntry, kGates> table = {{
      {kMmq, "FG_MMQ", "switch", "other", {}},
      {kMmqRaw, "FG_MMQ_RAW", "switch", "same", {kMmq}},
      {kMmqRawNb, "FG_MMQ_RAW_NB", "switch", "same", {kMmq, kMmqRaw}},
      {kMmqATranspose, "FG_MMQ_A_TRANSPOSE", "switch", "same", {kMmq, kMmqRaw, kMmqRawNb}},
      {kMmqQ6kNb, "FG_MMQ_Q6K_NB", "switch", "other", {kMmq, kMmqRawNb}},
      {kMmqAFuse,
       "FG_MMQ_A_FUSE",
       "mode",
       "same",
       {kMmq, kMmqRaw, kMmqRawNb, kMmqATranspose, kMmqQ6kNb},
       {"0", "1", "2"}},
      {kMmqQ6kExp, "FG_MMQ_Q6K_EXP", "switch", "same", {kMmq, kMmqRawNb, kMmqQ6kNb}},
      {kMmqQ4kDsc, "FG_MMQ_Q4K_DSC", "switch", "same", {kMmq, kMmqRaw, kMmqRawNb, kMmqATranspose}},
  }};
  return table;
}

std::vector<std::string> GateEntry::PromotedValues() const {
  if (!is_mode()) return {"1"};
  return {modes.begin() + 1, modes.end()};
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
