// What the float64 oracle says of a model: greedy tokens, margins, logits (docs/oracle.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gates/run_context.h"
#include "gates/streams.h"

namespace flipgate {

struct PromptPins {
  std::string name;
  std::vector<int64_t> ids, tokens;  // of the prompt; greedy ones of the oracle
  std::vector<double> margins;       // of the oracle's top two, per step and one more
  std::vector<float> logits;         // [steps + 1][vocabulary], teacher-forced along `tokens`
  int64_t vocabulary = 0;
};

struct ModelPins {
  std::string sha256;    // of the model's file
  double tolerance = 0;  // largest deviation of a logit that rounding explains
  std::vector<PromptPins> prompts;

  const PromptPins* Find(const std::string& name) const;
};

// FOLDER/MODEL/index.json and its logits. kUsage names the file and what is wrong; a model whose
// loaded file is not the pinned one is refused.
fg::Result<ModelPins> LoadModelPins(const Project& project, const std::string& folder,
                                    const std::string& model, const std::string& loaded_sha256);

// How streams stand to the oracle: a token must be its token wherever its margin exceeds the
// tolerance; behind a step that may differ and does, a prompt is compared no further.
struct PinsComparison {
  int64_t compared = 0;              // tokens that had to be equal and were
  int64_t free = 0;                  // steps whose margin lies within the tolerance
  std::optional<std::string> fault;  // the first step that had to be equal and was not
};
PinsComparison CompareWithPins(const std::vector<Stream>& streams, const ModelPins& pins);

}  // namespace flipgate
