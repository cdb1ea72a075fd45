// The registry of gates and settings: reads the environment once, at start, and nothing else in the
// engine does. A gate's value leaves it only through On() and Mode(), which count the read.
// Defaults per hardware class are compiled in from promotion/defaults.yaml. Semantics:
// docs/gates.md.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/faults.h"
#include "engine/gates_settings.h"
#include "engine/gates_table.h"
#include "engine/ledger.h"
#include "engine/phase.h"

namespace fg {

// A gate resolved for this process.
struct GateState {
  std::string name;
  std::string kind;                // "switch", "mode"
  std::string bits;                // "same" or "other"
  std::vector<std::string> needs;  // names
  GateStage stage = GateStage::kOptIn;
  std::optional<std::string> env;  // the variable's text; nothing when unset or empty
  std::string value;               // "0", "1"; of a mode one of `modes`
  std::vector<std::string> modes;  // of a mode; empty for a switch
};

// A variable that was said loudly at start.
struct PeculiarVariable {
  std::string variable, value, message, nearest;  // nearest may be empty
};

// What opening a device takes from the environment, before there is a class to resolve gates for.
struct DeviceSettings {
  std::string device_class, cublaslt_path;  // as in Settings
};

class Gates {
 public:
  static DeviceSettings DeviceSettingsOf(std::span<const std::string> environment);

  // `environment` holds "NAME=value" strings. kUsage under FG_STRICT_ENV=1 for a peculiar
  // variable, and always for a setting that cannot be meant (FG_CPU_LEVEL=avx9, a level this
  // processor lacks, FG_THREADS=0, FG_FAULT=unknown), with the nearest name. `ledger` may be null:
  // reads are not counted then.
  static Result<Gates> FromEnvironment(std::span<const std::string> environment,
                                       std::string_view hardware_class, Ledger* ledger);
  // The same over defaults other than the compiled ones.
  static Result<Gates> Resolve(std::span<const std::string> environment,
                               const ClassDefaults& defaults, Ledger* ledger);

  // Whether the gate is ON (a mode: not in its first); counts one read in `phase`. Whether its
  // needs are met is the caller's table to decide (docs/arithmetic.md "16 rows").
  bool On(Gate gate, Phase phase) const;
  // Which mode a mode gate is in, as its place among them; counts one read in `phase`.
  int Mode(Gate gate, Phase phase) const;

  const std::vector<GateState>& states() const {
    return states_;
  }  // for reports, never for choices
  const std::vector<PeculiarVariable>& peculiar() const { return peculiar_; }
  const Settings& settings() const { return settings_; }
  // The settings' variables that are set, with their texts: for reports.
  const std::map<std::string, std::string>& settings_set() const { return settings_set_; }
  const Faults& faults() const { return faults_; }
  const std::string& hardware_class() const { return hardware_class_; }
  // True when no gate's variable is set: the default speaks.
  bool AllFromDefaults() const;

 private:
  const GateState& Read(Gate gate, Phase phase) const;

  std::vector<GateState> states_;  // indexed by Gate
  std::vector<PeculiarVariable> peculiar_;
  Settings settings_;
  std::map<std::string, std::string> settings_set_;
  Faults faults_;
  std::string hardware_class_;
  Ledger* ledger_ = nullptr;
};

}  // namespace fg
