// The arm of reuse_neutral on a device that captures its steps: what is replayed against the same
// run step by step (docs/matrix.md, `eager`).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "gates/run_context.h"

namespace flipgate {

struct ReplayComparison {
  std::optional<std::string> fault;
  std::vector<std::string> labels;  // of the run that replays
  fg::Json figures = fg::Json::object();
};

// `eager_tokens` greedy tokens behind a prompt of 16, so that the length goes through every bucket
// up to them; then another session of 20 tokens, which goes on. Once with nothing set, once with
// the variables of `eager`: streams and digests equal token by token, labels and launches equal,
// captures and replays counted in the one and 0 in the other.
fg::Result<ReplayComparison> HoldReplayToEager(RunContext& context);

}  // namespace flipgate
