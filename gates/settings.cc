#include "gates/settings.h"

namespace flipgate {
namespace {

// The gate's settings beside `off`, each with its needs on.
void AddOnSettings(const RunContext& context, const GateSpec& gate,
                   std::vector<Setting>* settings) {
  settings->push_back({gate.name + " opted in", context.OptIn(gate)});
  for (const auto& [setting, text] : gate.set) {
    if (setting == "on" || setting == "off") continue;
    Variables variables = context.OptIn(gate);
    variables[gate.name] = text;
    settings->push_back({gate.name + "=" + text, variables});
  }
}

}  // namespace

std::vector<Setting> SettingsOfRow(const RunContext& context) {
  std::vector<Setting> settings;
  if (const GateSpec* row = context.gate(); row != nullptr) {
    Variables off = context.OptIn(*row);
    off[row->name] = row->set.at("off");
    settings.push_back({row->name + " off", off});
    AddOnSettings(context, *row, &settings);
    return settings;
  }
  settings = {{"nothing set", {}}, {"all off", context.Explicit({})}};
  std::vector<std::string> elsewhere;  // gates that are not built on this class
  for (const GateSpec& gate : context.matrix().gates()) {
    if (context.matrix().GateInScope(gate.name, context.hardware_class())) {
      AddOnSettings(context, gate, &settings);
    } else {
      elsewhere.push_back(gate.name);
    }
  }
  if (!elsewhere.empty()) settings.push_back({"all opted in", context.Explicit(elsewhere)});
  return settings;
}

}  // namespace flipgate
