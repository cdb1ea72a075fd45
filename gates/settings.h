// The environments that a kind walks to show that a setting makes no difference.
#pragma once

#include <string>
#include <vector>

#include "gates/run_context.h"

namespace flipgate {

struct Setting {
  std::string name;  // "FG_MMQ opted in": how a message calls it
  Variables variables;
};

// A gate's row: the gate off, opted in, and each further setting of a mode gate, its needs on. The
// row `default`: nothing set, all off, then each gate opted in and its further settings; gates that
// the class does not have are opted in together.
std::vector<Setting> SettingsOfRow(const RunContext& context);

}  // namespace flipgate
