#include "gates/evidence_optout.h"

#include <algorithm>

#include "gates/arm_run.h"
#include "gates/snapshot_reach.h"

namespace flipgate {
namespace {

// Rows: a gate with those that shadow it (they would take the labels over), or all gates for
// `default`.
std::vector<const GateSpec*> TurnedOff(const RunContext& context) {
  std::vector<const GateSpec*> gates;
  if (context.gate() == nullptr) {
    for (const GateSpec& gate : context.matrix().gates()) gates.push_back(&gate);
    return gates;
  }
  gates.push_back(context.gate());
  for (const std::string& shadow : context.gate()->shadowed_by) {
    gates.push_back(context.matrix().FindGate(shadow));
  }
  return gates;
}

// What head is given: the row's gates at off. A gate that is not promoted stands beside its needs
// at on, so that its `0` is the only difference from being opted in.
Variables HeadVariables(const RunContext& context) {
  Variables variables;
  const GateSpec* row = context.gate();
  if (row != nullptr && !context.IsPromoted(row->name)) variables = context.OptIn(*row);
  for (const GateSpec* gate : TurnedOff(context)) variables[gate->name] = gate->set.at("off");
  return variables;
}

// The same for the snapshot, every gate it knows said: the promoted set, then what head was given.
Variables SnapshotVariables(const RunContext& context, const Variables& head) {
  Variables all = context.Explicit(context.Promoted());
  for (const auto& [name, value] : head) all[name] = value;
  return KnownToSnapshot(context, all);
}

// A label of `live` that is still there, unless `back` names it too (a broad pattern of a family).
std::optional<std::string> LeftOver(const GateSpec& gate, const LabelCounts& counts) {
  for (const LabelRule& rule : gate.live) {
    for (const auto& [label, count] : counts.prefill) {
      if (!LabelMatches(rule.pattern, label)) continue;
      const bool old = std::any_of(gate.back.begin(), gate.back.end(), [&](const LabelRule& back) {
        return LabelMatches(back.pattern, label);
      });
      if (!old) return "with " + gate.name + " at off label '" + label + "' is still dispatched";
    }
  }
  return std::nullopt;
}

fg::Result<std::optional<std::string>> LabelFault(RunContext& context, const ArmRun& run,
                                                  int64_t* checked) {
  std::optional<std::string> fault;
  for (const GateSpec* gate : TurnedOff(context)) {
    if (!fault) fault = LeftOver(*gate, run.counts);
  }
  // `default` turns all off: what comes back is what the gate without needs names.
  for (const GateSpec& gate : context.matrix().gates()) {
    const bool meant = context.gate() != nullptr ? &gate == context.gate() : gate.needs.empty();
    if (!meant || fault) continue;
    FG_ASSIGN_OR_RETURN(fault, BrokenRule(gate.back, run.counts, run.values, checked));
  }
  return fault ? fault : UnaskedFallback(run.counts);
}

fg::Result<CellResult> CheckWayOut(RunContext& context, const CellId& cell, const Variables& head) {
  const Variables snapshot = SnapshotVariables(context, head);
  FG_ASSIGN_OR_RETURN(const auto prompts, CellPrompts(context));
  const StreamOptions options = CellOptions(context);
  FG_ASSIGN_OR_RETURN(const ArmRun old,
                      RunArm(context, Arm::kSnapshot, snapshot, cell.model, prompts, options));
  FG_ASSIGN_OR_RETURN(const ArmRun now,
                      RunArm(context, Arm::kHead, head, cell.model, prompts, options));
  FG_ASSIGN_OR_RETURN(const ModelPins pins, CellPins(context, now.sha256));
  int64_t checked = 0;
  FG_ASSIGN_OR_RETURN(const auto label, LabelFault(context, now, &checked));
  const auto fork = FindFork(old.streams, "snapshot", now.streams, "head");
  const PinsComparison oracle = CompareWithPins(now.streams, now.labels, pins);
  CellResult result;
  if (label) {
    result = CellResult::Fail("label", *label);
  } else if (checked == 0) {
    result =
        CellResult::Fail("label", "no label of the old path was wanted and seen on this model");
  } else if (fork) {
    result = CellResult::Fail("fork", *fork);
  } else if (const auto why_not = oracle.WhyNot()) {
    result = CellResult::Fail("oracle", *why_not);
  } else {
    result.outcome = Outcome::kPass;
  }
  result.agreement = kBitwise;
  result.labels = now.labels;
  result.figures = {{"tokens_compared", CountTokens(now.streams)},
                    {"rules_checked", checked},
                    {"oracle_tokens_compared", oracle.compared},
                    {"prefills", now.counts.prefills}};
  result.attachments = {
      {"optout.json",
       fg::Json{{"head", ArmJson(head, now)}, {"snapshot", ArmJson(snapshot, old)}}.dump(1)}};
  return result;
}

}  // namespace

CellResult RunOptout(RunContext& context, const CellId& cell) {
  if (!context.has_snapshot()) return CellResult::Skipped(context.snapshot().absent);
  const Variables head = HeadVariables(context);
  if (const auto lacking = LackedBySnapshot(context, head)) {
    return CellResult::Skipped("renew the snapshot: it does not know " + *lacking);
  }
  auto result = CheckWayOut(context, cell, head);
  return result.ok() ? *result : context.Stopped(result.status());
}

}  // namespace flipgate
