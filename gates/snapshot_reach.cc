#include "gates/snapshot_reach.h"

#include <algorithm>

namespace flipgate {

bool SnapshotKnows(const RunContext& context, const std::string& gate) {
  const auto& gates = context.snapshot_gates();
  return std::any_of(gates.begin(), gates.end(),
                     [&](const HelloGate& g) { return g.name == gate; });
}

Variables KnownToSnapshot(const RunContext& context, const Variables& variables) {
  Variables known;
  for (const auto& [name, value] : variables) {
    if (SnapshotKnows(context, name)) known[name] = value;
  }
  return known;
}

std::optional<std::string> LackedBySnapshot(const RunContext& context, const Variables& head) {
  for (const GateSpec& gate : context.matrix().gates()) {
    if (gate.same_bits || SnapshotKnows(context, gate.name)) continue;
    const auto given = head.find(gate.name);
    const bool on =
        given == head.end() ? context.IsPromoted(gate.name) : given->second != gate.set.at("off");
    if (on) return gate.name;
  }
  return std::nullopt;
}

}  // namespace flipgate
