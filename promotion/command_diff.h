// Holds two bundles against each other.
#pragma once

#include "promotion/cli.h"

namespace flipgate {

void RegisterDiff(CLI::App* app, Invocation* invocation);

}  // namespace flipgate
