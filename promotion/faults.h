// The planted faults of an engine, as `ENGINE faults --json` lists them.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace flipgate {

struct PlantedFault {
  std::string name, description;
  std::vector<std::string> kinds;  // of evidence, each of which must turn red under it
  std::string device = "any";      // where it acts: "any", "cpu", "cuda", as the engine says
};

// [{"name", "description", "kinds", "device"}, ...]; without `device` it is "any". kIo "ENGINE
// faults --json: ..." for anything else, a fault that stands twice among it. `text` is what the
// engine wrote.
fg::Result<std::vector<PlantedFault>> ParseFaults(const std::string& text);

// Asks the engine; `engine` is its program and arguments. kIo names how it ended.
fg::Result<std::vector<PlantedFault>> AskFaults(const std::vector<std::string>& engine);

// Each kind that a fault lists is one of `kinds`: else kUsage with the nearest.
fg::Status CheckFaultKinds(const std::vector<PlantedFault>& faults,
                           const std::vector<std::string>& kinds);

}  // namespace flipgate
