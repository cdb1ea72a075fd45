#pragma once

#include "promotion/cli.h"

namespace flipgate {

void RegisterDemo(CLI::App* app, Invocation* invocation);

}  // namespace flipgate
