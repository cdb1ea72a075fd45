// What there is: kinds, gates, models, cells, and the pairs without cells.
#pragma once

#include "promotion/cli.h"

namespace flipgate {

void RegisterList(CLI::App* app, Invocation* invocation);

}  // namespace flipgate
