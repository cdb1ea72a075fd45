// The second arm of parity on a device: the same program on another class, with every gate off so
// that both take the paths that both have. Every node's output of a prefill and of decode steps
// over the same tokens, and greedy streams.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "gates/run_context.h"

namespace flipgate {

struct CrossBackend {
  std::optional<std::string> fault;
  std::vector<std::string> labels;  // of head
  fg::Json figures = fg::Json::object();
};

// Reads the cell's fields `against`, `prompts`, `only` and `tokens` and its agreement `layers`: a
// value may deviate by that share of its row's largest; a greedy token must be the reference's
// where its margin exceeds that share of the highest logit. Behind a step that may differ and does,
// a prompt is compared no further.
fg::Result<CrossBackend> HoldAgainstReference(RunContext& context, const Variables& variables);

}  // namespace flipgate
