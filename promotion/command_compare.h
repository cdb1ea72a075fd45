// `flipgate compare`: the throughput procedure over numbers that somebody else measured.
#pragma once

#include "promotion/cli.h"

namespace flipgate {

void RegisterCompare(CLI::App* app, Invocation* invocation);

}  // namespace flipgate
