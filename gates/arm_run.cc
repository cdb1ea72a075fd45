#include "gates/arm_run.h"

#include <algorithm>

#include "base/nearest.h"
#include "gates/blind_spots.h"

namespace flipgate {

fg::Result<ArmRun> RunPrompts(CellEngine& engine, const std::vector<Prompt>& prompts,
                              const StreamOptions& options) {
  ArmRun run;
  FG_ASSIGN_OR_RETURN(run.streams, CollectStreams(engine, prompts, options));
  FG_ASSIGN_OR_RETURN(run.ledger, engine.Ask({{"request", "ledger"}}));
  run.load = engine.load();
  run.counts = LabelCounts::FromLedger(run.ledger);
  run.labels = LedgerLabels(run.ledger);
  run.values = ValuesFor(run.counts, run.load);
  run.sha256 = run.load.value("model", fg::Json::object()).value("sha256", "");
  return run;
}

fg::Result<ArmRun> RunArm(RunContext& context, Arm arm, const Variables& variables,
                          const std::string& model, const std::vector<Prompt>& prompts,
                          const StreamOptions& options, Keep keep) {
  FG_ASSIGN_OR_RETURN(CellEngine engine, keep == Keep::kFresh
                                             ? context.FreshEngine(arm, variables, model)
                                             : context.Engine(arm, variables, model));
  return RunPrompts(engine, prompts, options);
}

fg::Result<std::vector<Prompt>> CellPrompts(const RunContext& context) {
  const std::string folder = context.spec().Text("prompts");
  FG_ASSIGN_OR_RETURN(std::vector<Prompt> all, LoadPrompts(context.project(), folder));
  const auto only = context.spec().fields.find("only");
  if (only == context.spec().fields.end()) return all;
  std::vector<std::string> names;
  for (const Prompt& prompt : all) names.push_back(prompt.name);
  std::vector<Prompt> chosen;
  for (const std::string name : *only) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      return fg::Status(fg::ErrorKind::kUsage, folder + ": no prompt is called '" + name + "'" +
                                                   fg::DidYouMean(name, names));
    }
    chosen.push_back(all[static_cast<size_t>(found - names.begin())]);
  }
  return chosen;
}

StreamOptions CellOptions(const RunContext& context) {
  StreamOptions options;
  options.tokens = context.spec().Integer("tokens");
  return options;
}

fg::Result<ModelPins> CellPins(const RunContext& context, const std::string& sha256) {
  return LoadModelPins(context.project(), context.spec().Text("pins"), context.cell().model,
                       sha256);
}

fg::Json ArmJson(const Variables& variables, const ArmRun& run) {
  return {{"variables", variables},
          {"labels", LabelsJson(run.counts)},
          {"streams", StreamsJson(run.streams)}};
}

}  // namespace flipgate
