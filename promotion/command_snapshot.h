// flipgate snapshot: finds or builds the snapshot of a class and says what it is.
#pragma once

#include "promotion/cli.h"

namespace flipgate {

void RegisterSnapshot(CLI::App* app, Invocation* invocation);

}  // namespace flipgate
