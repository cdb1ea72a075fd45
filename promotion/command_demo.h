// A planted fault and its red cell, in a minute or two.
#pragma once

#include "promotion/cli.h"

namespace flipgate {

void RegisterDemo(CLI::App* app, Invocation* invocation);

}  // namespace flipgate
