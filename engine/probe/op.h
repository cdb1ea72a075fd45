// The probe's `op`: one operation through the engine's own dispatch, on data from files.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "engine/backend/backend_factory.h"
#include "engine/gates.h"
#include "engine/ledger.h"
#include "engine/probe/requests.h"

namespace fg {

// The operations' names, in the order of docs/probe.md.
std::vector<std::string> OpNames();

// Reads the inputs, runs the operation on `device`, writes the output into request.out
// and gives {"outputs": .., "labels": ..}. The labels are counted in `ledger` too. kUsage
// "op.SITE: message" for what the request says wrong, kIo for files, kOutOfMemory, kRefused for an
// operation that the device does not have.
Result<Json> RunOp(const OpRequest& request, const Device& device, const Gates& gates,
                   Ledger* ledger);

}  // namespace fg
