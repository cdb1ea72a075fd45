// Writes bundle.tar.gz anew, with the page that was rendered after the run.
#pragma once

#include "promotion/cli.h"

namespace flipgate {

void RegisterPack(CLI::App* app, Invocation* invocation);

}  // namespace flipgate
