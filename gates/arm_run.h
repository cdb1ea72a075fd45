// One run of prompts through one engine: what most kinds of evidence compare. Streams, labels, and
// what load and ledger said.
#pragma once

#include <string>
#include <vector>

#include "gates/label_rules.h"
#include "gates/model_pins.h"
#include "gates/run_context.h"
#include "gates/streams.h"

namespace flipgate {

struct ArmRun {
  std::vector<Stream> streams;
  LabelCounts counts;
  std::vector<std::string> labels;  // "phase op label"
  FormulaValues values;             // for the formulas of the matrix
  std::string sha256;               // of the model's file, as load tells it
  fg::Json load, ledger;            // the answers
};

// `prompts` on an engine at hand, then its ledger.
fg::Result<ArmRun> RunPrompts(CellEngine& engine, const std::vector<Prompt>& prompts,
                              const StreamOptions& options);

// The same on the resident engine of these variables, or on one of its own that is gone afterwards:
// for a kind that meets more environments than processes are kept.
enum class Keep { kResident, kFresh };
fg::Result<ArmRun> RunArm(RunContext& context, Arm arm, const Variables& variables,
                          const std::string& model, const std::vector<Prompt>& prompts,
                          const StreamOptions& options, Keep keep = Keep::kResident);

// The prompts of the cell's kind: its folder, narrowed to those that its field `only` names. kUsage
// names one that is not there.
fg::Result<std::vector<Prompt>> CellPrompts(const RunContext& context);
// Stream options with the kind's `tokens`.
StreamOptions CellOptions(const RunContext& context);
// The oracle's pins of the model that an arm loaded, from the kind's folder.
fg::Result<ModelPins> CellPins(const RunContext& context, const std::string& sha256);

// For an attachment: variables, labels and streams.
fg::Json ArmJson(const Variables& variables, const ArmRun& run);

}  // namespace flipgate
