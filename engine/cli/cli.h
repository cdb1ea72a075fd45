// The program fg-engine but for main(): a command line and an environment in, an exit code out.
#pragma once

#include <span>
#include <string>

namespace fg {

// Exit codes: 0 done; 2 usage, configuration or bad input; 4 the machine (memory, device, output).
// Everything that goes wrong is one line on standard error, "fg-engine: ...". Never throws.
int RunCli(std::span<const std::string> arguments, std::span<const std::string> environment);

}  // namespace fg
