#include "engine/gates.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/nearest.h"
#include "engine/gates_defaults.h"

namespace fg {
namespace {

using Variables = std::map<std::string, std::string>;

// The FG_ variables that hold a text. An empty value is unset; of a name given twice the first
// counts, as it does for the C library.
Variables OurVariables(std::span<const std::string> environment) {
  Variables variables;
  for (const std::string& entry : environment) {
    const size_t equals = entry.find('=');
    if (!entry.starts_with("FG_") || equals == std::string::npos) continue;
    variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  std::erase_if(variables, [](const auto& variable) { return variable.second.empty(); });
  return variables;
}

std::optional<std::string> Find(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::nullopt : std::make_optional(found->second);
}

GateState ResolveGate(const GateEntry& entry, const GateDefault& by_default,
                      const Variables& variables) {
  GateState state;
  state.name = entry.name;
  state.kind = entry.kind;
  state.bits = entry.bits;
  for (const Gate need : entry.needs) state.needs.push_back(EntryOf(need).name);
  state.stage = by_default.stage;
  state.env = Find(variables, entry.name);
  state.modes = entry.modes;
  const bool promoted = by_default.stage == GateStage::kPromoted;
  if (entry.is_mode()) {
    state.value = ModeOf(state.env, entry.modes, promoted ? by_default.value : entry.modes[0]);
  } else {
    state.value = SwitchIsOn(state.env, promoted) ? "1" : "0";
  }
  return state;
}

Result<Settings> ResolveSettings(const Variables& variables) {
  Settings settings;
  settings.cpu_level = BestCpuLevel();
  if (const auto level = Find(variables, "FG_CPU_LEVEL")) {
    FG_ASSIGN_OR_RETURN(settings.cpu_level, ReadCpuLevel(*level, SupportedCpuLevels()));
  }
  settings.threads = ThreadsByDefault();
  if (const auto threads = Find(variables, "FG_THREADS")) {
    FG_ASSIGN_OR_RETURN(settings.threads, ReadThreads(*threads));
  }
  settings.prefill_gemm = SwitchIsOn(Find(variables, "FG_PREFILL_GEMM"), true);
  settings.strict_env = SwitchIsOn(Find(variables, "FG_STRICT_ENV"), false);
  if (const auto limit = Find(variables, "FG_PLANE_LIMIT_MIB")) {
    FG_ASSIGN_OR_RETURN(settings.plane_limit_mib, ReadPlaneLimit(*limit));
  }
  settings.sync_launch = SwitchIsOn(Find(variables, "FG_SYNC_LAUNCH"), false);
  settings.capture = SwitchIsOn(Find(variables, "FG_CAPTURE"), true);
  settings.clear_outputs = SwitchIsOn(Find(variables, "FG_CLEAR_OUTPUTS"), false);
  settings.cublaslt_path = Find(variables, "FG_CUBLASLT_PATH").value_or("");
  settings.device_class = Find(variables, "FG_DEVICE_CLASS").value_or("");
  settings.graph_dump = Find(variables, "FG_GRAPH_DUMP").value_or("");
  settings.dump_dir = Find(variables, "FG_DUMP_DIR").value_or("");
  settings.trace = Find(variables, "FG_TRACE").value_or("");
  settings.live = Find(variables, "FG_LIVE").value_or("");
  if (!settings.live.empty()) FG_RETURN_IF_ERROR(ReadPort(settings.live).status());
  return settings;
}

// What to say of one variable, if anything.
std::optional<PeculiarVariable> Peculiarity(const std::string& name, const std::string& text) {
  const auto peculiar = [&](const std::optional<std::string>& message) {
    return message ? std::make_optional(PeculiarVariable{name, text, *message, ""}) : std::nullopt;
  };
  std::vector<std::string> known = GateNames();
  if (const auto gate = std::find(known.begin(), known.end(), name); gate != known.end()) {
    const GateEntry& entry = GateTable()[static_cast<size_t>(gate - known.begin())];
    return peculiar(entry.is_mode() ? ModePeculiarity(name, text, entry.modes)
                                    : SwitchPeculiarity(name, text, "the gate"));
  }
  for (const SettingEntry& setting : SettingTable()) {
    known.push_back(setting.name);
    if (name != setting.name) continue;
    if (!setting.is_switch) return std::nullopt;
    return peculiar(SwitchPeculiarity(name, text, "the setting"));
  }
  return PeculiarVariable{
      name, text, name + " is no gate and no setting; it does nothing" + DidYouMean(name, known),
      Nearest(name, known).value_or("")};
}

Status Strictly(const std::vector<PeculiarVariable>& peculiar) {
  if (peculiar.empty()) return Status::Ok();
  std::string message = "FG_STRICT_ENV=1 refuses what is peculiar";
  for (const PeculiarVariable& variable : peculiar) message += ": " + variable.message;
  return Status(ErrorKind::kUsage, message);
}

}  // namespace

DeviceSettings Gates::DeviceSettingsOf(std::span<const std::string> environment) {
  const Variables variables = OurVariables(environment);
  return {.device_class = Find(variables, "FG_DEVICE_CLASS").value_or(""),
          .cublaslt_path = Find(variables, "FG_CUBLASLT_PATH").value_or("")};
}

Result<Gates> Gates::FromEnvironment(std::span<const std::string> environment,
                                     std::string_view hardware_class, Ledger* ledger) {
  return Resolve(environment, DefaultsOf(hardware_class), ledger);
}

Result<Gates> Gates::Resolve(std::span<const std::string> environment,
                             const ClassDefaults& defaults, Ledger* ledger) {
  const Variables variables = OurVariables(environment);
  Gates gates;
  gates.ledger_ = ledger;
  gates.hardware_class_ = defaults.hardware_class;
  for (const GateEntry& entry : GateTable()) {
    gates.states_.push_back(
        ResolveGate(entry, defaults.gates[static_cast<size_t>(entry.gate)], variables));
  }
  for (const auto& [name, text] : variables) {
    if (auto peculiar = Peculiarity(name, text)) gates.peculiar_.push_back(std::move(*peculiar));
  }
  for (const SettingEntry& setting : SettingTable()) {
    if (const auto text = Find(variables, setting.name)) gates.settings_set_[setting.name] = *text;
  }
  FG_ASSIGN_OR_RETURN(gates.settings_, ResolveSettings(variables));
  if (const auto fault = Find(variables, "FG_FAULT")) {
    auto faults = Faults::Parse(*fault);
    if (!faults.ok()) return faults.status().WithContext("FG_FAULT");
    gates.faults_ = *faults;
  }
  if (gates.settings_.strict_env) FG_RETURN_IF_ERROR(Strictly(gates.peculiar_));
  return gates;
}

const GateState& Gates::Read(Gate gate, Phase phase) const {
  const GateState& state = states_[static_cast<size_t>(gate)];
  if (ledger_ != nullptr) ledger_->CountGateRead(state.name, phase);
  return state;
}

bool Gates::On(Gate gate, Phase phase) const { return Read(gate, phase).value != "0"; }

int Gates::Mode(Gate gate, Phase phase) const {
  const GateState& state = Read(gate, phase);
  const auto mode = std::find(state.modes.begin(), state.modes.end(), state.value);
  assert(mode != state.modes.end());
  return static_cast<int>(mode - state.modes.begin());
}

bool Gates::AllFromDefaults() const {
  return std::none_of(states_.begin(), states_.end(),
                      [](const GateState& state) { return state.env.has_value(); });
}

}  // namespace fg
