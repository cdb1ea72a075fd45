// sanitizer: does a kernel touch what is not its own?
//
// Defends against a read or write beyond an array, a read of what nobody wrote and a race between
// threads: what gives right numbers until the memory beside it holds something else. The engine
// runs as the child of the matrix's tool, over a short prompt with an odd tail and some steps of
// decode, once as it is and once with the matrix's `eager` variables. A tool says how many errors
// it found in its own closing line; without that line nothing is proven. A tool that is not here,
// or that says it does not work here, is `unsupported` with its words. The streams are those
// without the tool. Independent: the tool, which knows nothing of the engine. Faults:
// device_overrun. Bisect: a predicate as it is.
#pragma once

#include <optional>
#include <string>

#include "gates/evidence.h"

namespace flipgate {

// What a tool's log says at its end: the errors of "ERROR SUMMARY: 2 errors", the hazards of
// "RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)". Nothing without such a line.
std::optional<int64_t> ToolErrors(const std::string& log);
// The first line in which the tool says that it does not work; "" where there is none.
std::string ToolExcuse(const std::string& log);

CellResult RunSanitizer(RunContext& context, const CellId& cell);

}  // namespace flipgate
