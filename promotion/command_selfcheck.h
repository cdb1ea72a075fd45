// Runs each kind of evidence against each fault that it claims to catch.
#pragma once

#include "promotion/cli.h"

namespace flipgate {

void RegisterSelfCheck(CLI::App* app, Invocation* invocation);

}  // namespace flipgate
