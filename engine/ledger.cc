#include "engine/ledger.h"

#include <algorithm>
#include <utility>

namespace fg {

void Ledger::CountDispatch(Phase phase, const std::string& op, const std::string& label) {
  ++counts_.dispatch[{phase, op, label}];
}

void Ledger::CountLaunch(Phase phase) { ++counts_.launches[static_cast<size_t>(phase)]; }

void Ledger::CountGateRead(const std::string& gate, Phase phase) {
  ++counts_.gate_reads[{gate, phase}];
}

void Ledger::CountForward(Phase phase) { ++counts_.forwards[static_cast<size_t>(phase)]; }

void Ledger::CountGraph(bool reused, const std::string& identity) {
  ++(reused ? counts_.graphs_reused : counts_.graphs_built);
  counts_.graph_identities.insert(identity);
}

void Ledger::CountPlane(bool hit) { ++(hit ? counts_.plane_hits : counts_.plane_misses); }

void Ledger::CountCapture() { ++counts_.captures; }

void Ledger::CountReplay() { ++counts_.replays; }

void Ledger::AddDegradation(Degradation degradation) {
  auto& kept = counts_.degradations;
  if (std::find(kept.begin(), kept.end(), degradation) == kept.end()) {
    kept.push_back(std::move(degradation));
  }
}

void Ledger::AddRefusal(std::string message) { counts_.refusals.push_back(std::move(message)); }

Ledger::Counts Ledger::Take() { return std::exchange(counts_, Counts()); }

}  // namespace fg
