// The registry of gates and settings: reads the environment once, at start, and nothing else in the
// engine does. A gate's value leaves it only through On(), which counts the read. Defaults per
// hardware class are compiled in from promotion/defaults.yaml. Semantics: docs/design.md "Gates".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/faults.h"
#include "engine/ledger.h"
#include "engine/phase.h"
#include "kernels/cpu/cpu_level.h"

namespace fg {

enum class Gate { kMmq, kMmqRaw, kMmqRawNb };
constexpr int kGates = 3;

enum class GateStage { kOptIn, kPromoted };

// A gate resolved for this process.
struct GateState {
  std::string name;
  std::string bits;                 // "same" or "other"
  std::vector<std::string> needs;   // names
  GateStage stage = GateStage::kOptIn;
  std::optional<std::string> env;   // the variable's text; nothing when unset
  std::string value;                // "0", "1"
};

// A variable that was said loudly at start.
struct PeculiarVariable {
  std::string variable, value, message, nearest;  // nearest may be empty
};

// Settings beside the gates, resolved.
struct Settings {
  CpuLevel cpu_level = CpuLevel::kPlain;  // FG_CPU_LEVEL, default the best supported
  int threads = 1;                        // FG_THREADS, default the processors this process may use
  bool prefill_gemm = true;               // FG_PREFILL_GEMM=0 forces the per-row kernels
  bool strict_env = false;                // FG_STRICT_ENV=1 makes every peculiarity an error
};

class Gates {
 public:
  // `environment` holds "NAME=value" strings (environ). kUsage under FG_STRICT_ENV=1 for a peculiar
  // variable, and always for a setting that cannot be meant (FG_CPU_LEVEL=avx9, a level this processor
  // lacks, FG_THREADS=0, FG_FAULT=unknown), with the nearest name.
  static Result<Gates> FromEnvironment(std::span<const std::string> environment,
                                       std::string_view hardware_class, Ledger* ledger);

  // Whether the gate is ON; counts one read in `phase`. Whether its needs are met is the caller's
  // table to decide (docs/design.md "Paths").
  bool On(Gate gate, Phase phase) const;

  const std::vector<GateState>& states() const { return states_; }  // for reports, never for choices
  const std::vector<PeculiarVariable>& peculiar() const { return peculiar_; }
  const Settings& settings() const { return settings_; }
  const Faults& faults() const { return faults_; }
  const std::string& hardware_class() const { return hardware_class_; }
  // True when no gate's variable is set: the default speaks.
  bool AllFromDefaults() const;

 private:
  std::vector<GateState> states_;  // indexed by Gate
  std::vector<PeculiarVariable> peculiar_;
  Settings settings_;
  Faults faults_;
  std::string hardware_class_;
  Ledger* ledger_ = nullptr;
};

}  // namespace fg
