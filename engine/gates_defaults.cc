#include "engine/gates_defaults.h"

#include "base/sha256.h"

namespace fg {

const std::vector<ClassDefaults>& CompiledDefaults() {
  static const std::vector<ClassDefaults> defaults = {
#include "engine/defaults_table.inc"
  };
  return defaults;
}

ClassDefaults DefaultsOf(std::string_view hardware_class) {
  for (const ClassDefaults& defaults : CompiledDefaults()) {
    if (defaults.hardware_class == hardware_class) return defaults;
  }
  ClassDefaults opt_in;
  opt_in.hardware_class = hardware_class;
  return opt_in;
}

std::string CanonicalDefaults(const ClassDefaults& defaults) {
  std::string text;
  for (const GateEntry& entry : GateTable()) {
    const GateDefault& gate = defaults.gates[static_cast<size_t>(entry.gate)];
    text += std::string(entry.name) + " " + GateStageName(gate.stage);
    if (gate.stage == GateStage::kPromoted) text += " " + gate.value;
    text += "\n";
  }
  return text;
}

std::string DefaultsHash(const ClassDefaults& defaults) {
  return Sha256Hex(CanonicalDefaults(defaults));
}

}  // namespace fg
