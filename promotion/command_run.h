// Runs the matrix, writes the bundle and says the verdict.
#pragma once

#include "promotion/cli.h"

namespace flipgate {

void RegisterRun(CLI::App* app, Invocation* invocation);

}  // namespace flipgate
