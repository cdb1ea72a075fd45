// What an engine did, counted: labels, gate reads, graphs, degradations. One per process, owned by
// whoever owns the engine; single-threaded like the engine's control flow.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "engine/phase.h"

namespace fg {

struct Degradation {
  std::string from, to, reason;
  bool operator==(const Degradation&) const = default;
};

class Ledger {
 public:
  void CountDispatch(Phase phase, const std::string& op, const std::string& label);
  void CountLaunch(Phase phase);
  void CountGateRead(const std::string& gate, Phase phase);
  void CountForward(Phase phase);  // kPrefill or kDecode
  void CountGraph(bool reused, const std::string& identity);
  void CountPlane(bool hit);  // an activation plane that was asked for: there already, or made
  void CountCapture();        // a step that a device took down to run it again as one
  void CountReplay();         // and ran so
  void AddDegradation(Degradation degradation);  // the same one is kept once
  void AddRefusal(std::string message);

  using DispatchKey = std::tuple<Phase, std::string, std::string>;  // phase, op, label
  struct Counts {
    std::map<DispatchKey, uint64_t> dispatch;
    std::map<std::pair<std::string, Phase>, uint64_t> gate_reads;
    uint64_t launches[kPhases] = {};
    uint64_t forwards[kPhases] = {};
    uint64_t graphs_built = 0, graphs_reused = 0;
    uint64_t plane_hits = 0, plane_misses = 0;
    uint64_t captures = 0, replays = 0;
    std::set<std::string> graph_identities;
    std::vector<Degradation> degradations;
    std::vector<std::string> refusals;
  };
  const Counts& counts() const { return counts_; }
  Counts Take();  // the counts so far; then counts from zero

 private:
  Counts counts_;
};

}  // namespace fg
