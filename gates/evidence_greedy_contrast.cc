#include "gates/evidence_greedy_contrast.h"

#include <algorithm>

#include "gates/blind_spots.h"
#include "gates/model_pins.h"
#include "gates/run_context.h"
#include "gates/streams.h"

namespace flipgate {
namespace {

struct ContrastArms {
  Variables head, snapshot;
};

// The snapshot gets every gate it knows; head gets only what is named (docs/design.md "Evidence").
ContrastArms ArmsFor(const RunContext& context, const GateSpec* gate) {
  std::vector<std::string> on = context.Promoted();
  ContrastArms arms;
  if (gate != nullptr && context.IsPromoted(gate->name)) {
    std::erase(on, gate->name);
    arms.head = {{gate->name, gate->set.at("off")}};
  } else if (gate != nullptr) {
    arms.head = context.OptIn(*gate);
    for (const auto& [name, value] : arms.head) on.push_back(name);
  }
  const Variables all = context.Explicit(on);
  for (const HelloGate& known : context.snapshot_gates()) {
    const auto value = all.find(known.name);
    if (value != all.end()) arms.snapshot.insert(*value);
  }
  return arms;
}

bool SnapshotKnows(const RunContext& context, const std::string& gate) {
  const auto& gates = context.snapshot_gates();
  return std::any_of(gates.begin(), gates.end(),
                     [&](const HelloGate& g) { return g.name == gate; });
}

struct ArmRun {
  std::vector<Stream> streams;
  std::vector<std::string> labels;
  std::string sha256;
};

fg::Result<ArmRun> RunArm(RunContext& context, Arm arm, const Variables& variables,
                          const std::string& model, const std::vector<Prompt>& prompts) {
  FG_ASSIGN_OR_RETURN(CellEngine engine, context.Engine(arm, variables, model));
  ArmRun run;
  StreamOptions options;
  options.tokens = context.spec().Integer("tokens");
  FG_ASSIGN_OR_RETURN(run.streams, CollectStreams(engine, prompts, options));
  FG_ASSIGN_OR_RETURN(const fg::Json ledger, engine.Ask({{"request", "ledger"}}));
  run.labels = LedgerLabels(ledger);
  run.sha256 = engine.load().value("model", fg::Json::object()).value("sha256", "");
  return run;
}

fg::Result<CellResult> Contrast(RunContext& context, const CellId& cell) {
  const ContrastArms arms = ArmsFor(context, context.gate());
  FG_ASSIGN_OR_RETURN(const auto prompts,
                      LoadPrompts(context.project(), context.spec().Text("prompts")));
  FG_ASSIGN_OR_RETURN(const ArmRun old,
                      RunArm(context, Arm::kSnapshot, arms.snapshot, cell.model, prompts));
  FG_ASSIGN_OR_RETURN(const ArmRun now,
                      RunArm(context, Arm::kHead, arms.head, cell.model, prompts));
  FG_ASSIGN_OR_RETURN(
      const ModelPins pins,
      LoadModelPins(context.project(), context.spec().Text("pins"), cell.model, now.sha256));
  CellResult result;
  result.agreement = kBitwise;
  result.labels = now.labels;
  result.attachments = {{"streams.json", fg::Json{{"snapshot",
                                                   {{"variables", arms.snapshot},
                                                    {"labels", old.labels},
                                                    {"streams", StreamsJson(old.streams)}}},
                                                  {"head",
                                                   {{"variables", arms.head},
                                                    {"labels", now.labels},
                                                    {"streams", StreamsJson(now.streams)}}}}
                                             .dump(1)}};
  const PinsComparison oracle = CompareWithPins(now.streams, now.labels, pins);
  result.figures = {{"prompts", prompts.size()},
                    {"tokens_compared", CountTokens(now.streams)},
                    {"oracle_tokens_compared", oracle.compared},
                    {"oracle_free_steps", oracle.free},
                    {"digest", StreamsDigest(now.streams)}};
  const auto fork = FindFork(old.streams, "snapshot", now.streams, "head");
  if (const auto reason = fork ? fork : oracle.WhyNot()) {
    result.outcome = Outcome::kFail;
    result.category = fork ? "fork" : "oracle";
    result.reason = *reason;
    return result;
  }
  result.outcome = Outcome::kPass;
  return result;
}

}  // namespace

CellResult RunGreedyContrast(RunContext& context, const CellId& cell) {
  if (!context.has_snapshot()) return CellResult::Skipped(context.snapshot().absent);
  if (context.gate() != nullptr && !SnapshotKnows(context, cell.gate)) {
    return CellResult::Skipped("renew the snapshot: it does not know " + cell.gate);
  }
  auto result = Contrast(context, cell);
  return result.ok() ? *result : context.Stopped(result.status());
}

}  // namespace flipgate
