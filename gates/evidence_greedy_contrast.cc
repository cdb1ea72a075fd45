#include "gates/evidence_greedy_contrast.h"

#include <algorithm>

#include "gates/arm_run.h"
#include "gates/snapshot_reach.h"

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
  arms.snapshot = KnownToSnapshot(context, context.Explicit(on));
  return arms;
}

fg::Result<CellResult> Contrast(RunContext& context, const CellId& cell, const ContrastArms& arms) {
  FG_ASSIGN_OR_RETURN(const auto prompts, CellPrompts(context));
  const StreamOptions options = CellOptions(context);
  FG_ASSIGN_OR_RETURN(const ArmRun old,
                      RunArm(context, Arm::kSnapshot, arms.snapshot, cell.model, prompts, options));
  FG_ASSIGN_OR_RETURN(const ArmRun now,
                      RunArm(context, Arm::kHead, arms.head, cell.model, prompts, options));
  FG_ASSIGN_OR_RETURN(const ModelPins pins, CellPins(context, now.sha256));
  CellResult result;
  result.agreement = kBitwise;
  result.labels = now.labels;
  result.attachments = {
      {"streams.json",
       fg::Json{{"snapshot", ArmJson(arms.snapshot, old)}, {"head", ArmJson(arms.head, now)}}.dump(
           1)}};
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
  const ContrastArms arms = ArmsFor(context, context.gate());
  if (const auto lacking = LackedBySnapshot(context, arms.head)) {
    return CellResult::Skipped("renew the snapshot: it does not know " + *lacking);
  }
  auto result = Contrast(context, cell, arms);
  return result.ok() ? *result : context.Stopped(result.status());
}

}  // namespace flipgate
