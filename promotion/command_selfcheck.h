#pragma once

#include "promotion/cli.h"

namespace flipgate {

void RegisterSelfCheck(CLI::App* app, Invocation* invocation);

}  // namespace flipgate
