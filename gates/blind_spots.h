// Labels of the default path that no value-checking evidence reached.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "gates/bundle.h"
#include "gates/run_context.h"

namespace flipgate {

// "phase op label" of each dispatch entry of a ledger answer.
std::vector<std::string> LedgerLabels(const fg::Json& ledger);

// What an empty environment dispatches on `model`: one forward of 16 rows or more, then decode
// steps.
fg::Result<std::vector<BlindSpot>> DefaultLabels(RunContext& context, const std::string& model);

// Those of `used` that are not in `reached` ("phase op label").
std::vector<BlindSpot> Unreached(const std::vector<BlindSpot>& used,
                                 const std::set<std::string>& reached);

}  // namespace flipgate
