// Reads one cell's outcome, or the verdict, from a bundle and gives it as an exit code: what CTest
// runs.
#pragma once

#include "promotion/cli.h"

namespace flipgate {

void RegisterCellStatus(CLI::App* app, Invocation* invocation);

}  // namespace flipgate
