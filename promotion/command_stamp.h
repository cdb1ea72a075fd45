// `flipgate stamp`: the last step of scripts/pack.
#pragma once

#include "promotion/cli.h"

namespace flipgate {

void RegisterStamp(CLI::App* app, Invocation* invocation);

}  // namespace flipgate
