// Says what is missing or in the way on this machine.
#pragma once

#include "promotion/cli.h"

namespace flipgate {

void RegisterDoctor(CLI::App* app, Invocation* invocation);

}  // namespace flipgate
