// The readers of intermediate values: what FG_GRAPH_DUMP, FG_DUMP_DIR, FG_TRACE and FG_LIVE ask
// for. docs/readers.md.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "engine/backend/node_observer.h"
#include "engine/gates_settings.h"

namespace fg {

// All readers that are asked for, behind one observer; null when none is. kUsage names the variable
// at fault: a path that cannot be written, a folder that is not empty, a port that is taken.
Result<std::unique_ptr<NodeObserver>> MakeReaders(const Settings& settings);

// The same errors, as far as they can be seen without making or opening anything: for the start of
// a command, before a model is read.
Status CheckReaders(const Settings& settings);

// kUsage "FG_TRACE='PATH': is the model itself" where a reader would write over `model`, by
// whatever name or link: the file is mapped, so emptying it would take the weights from under the
// engine.
Status CheckReadersSpare(const Settings& settings, const std::string& model);

}  // namespace fg
