// The registry's table: every gate, once. A new gate is a value of Gate, an entry of the table in
// gates_table.cc, a row in promotion/defaults.yaml and a block of the matrix.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace fg {

enum class Gate {
  kMmq,
  kMmqRaw,
  kMmqRawNb,
  kMmqATranspose,
  kMmqQ6kNb,
  kMmqAFuse,
  kMmqQ6kExp,
  kMmqQ4kDsc,
};
constexpr int kGates = 8;

enum class GateStage { kOptIn, kPromoted };
const char* GateStageName(GateStage stage);  // "opt_in", "promoted"

struct GateEntry {
  Gate gate;
  const char* name;                     // the variable
  const char* kind;                     // "switch": values "0" and "1"; "mode": one of `modes`
  const char* bits;                     // "same" as with the gate OFF, or "other"
  std::vector<Gate> needs;              // what must be ON for it to act in full
  std::vector<std::string> modes = {};  // of a mode: its values, OFF first; empty for a switch

  bool is_mode() const { return !modes.empty(); }
  // What a promoted gate may have as its value.
  std::vector<std::string> PromotedValues() const;
};

// In the order of Gate, which is the order of the rows in promotion/defaults.yaml.
const std::array<GateEntry, kGates>& GateTable();
inline const GateEntry& EntryOf(Gate gate) { return GateTable()[static_cast<size_t>(gate)]; }
std::vector<std::string> GateNames();

// What a hardware class has by default.
struct GateDefault {
  GateStage stage = GateStage::kOptIn;
  std::string value;  // when promoted "1", or a mode other than "0"; else empty
  bool operator==(const GateDefault&) const = default;
};
struct ClassDefaults {
  std::string hardware_class;
  std::array<GateDefault, kGates> gates;  // indexed by Gate
  bool operator==(const ClassDefaults&) const = default;
};

}  // namespace fg
