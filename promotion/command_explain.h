// What a kind of evidence or a cell means, and how it ended.
#pragma once

#include "promotion/cli.h"

namespace flipgate {

void RegisterExplain(CLI::App* app, Invocation* invocation);

}  // namespace flipgate
