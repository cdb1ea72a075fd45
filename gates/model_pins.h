// What the float64 oracle says of a model: greedy tokens, margins, logits (docs/oracle.md).
#pragma once

#include <map>
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
  std::string folder;  // of the index, from the project's root
  // Largest deviation of a logit that rounding explains, per path: "int8" where activations went
  // through int8 chunks, "f16" where they went through f16 (an int8 tail included).
  std::map<std::string, double> tolerances;
  std::vector<PromptPins> prompts;

  const PromptPins* Find(const std::string& name) const;
};

// The pins of the model whose file has this sum: those below FOLDER/*/index.json that name it.
// kUsage names the file and what is wrong, or says that no pins are of this model and what to run.
fg::Result<ModelPins> LoadModelPins(const Project& project, const std::string& folder,
                                    const std::string& model, const std::string& loaded_sha256);

// The path whose tolerance holds for what a ledger's labels ("phase op label") say was dispatched.
std::string PinnedPath(const std::vector<std::string>& labels);

// How streams stand to the oracle: a token must be its token wherever its margin exceeds the
// tolerance; behind a step that may differ and does, a prompt is compared no further.
struct PinsComparison {
  int64_t compared = 0;              // tokens that had to be equal and were
  int64_t free = 0;                  // steps whose margin lies within the tolerance
  std::optional<std::string> fault;  // the first step that had to be equal and was not

  // Why a cell may not pass by it: the fault, or that nothing was compared.
  std::optional<std::string> WhyNot() const;
};
PinsComparison CompareWithPins(const std::vector<Stream>& streams,
                               const std::vector<std::string>& labels, const ModelPins& pins);

// The two highest logits of each step against the oracle's, as long as a stream keeps to its
// tokens: the first that lies beyond the tolerance, or is no number. Counts the logits held into
// *compared.
std::optional<std::string> TopLogitsFault(const std::vector<Stream>& streams,
                                          const std::vector<std::string>& labels,
                                          const ModelPins& pins, int64_t* compared);

}  // namespace flipgate
