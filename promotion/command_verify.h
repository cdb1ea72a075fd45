// Holds bundles against themselves.
#pragma once

#include "promotion/cli.h"

namespace flipgate {

void RegisterVerify(CLI::App* app, Invocation* invocation);

}  // namespace flipgate
