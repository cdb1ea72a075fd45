#include "gates/evidence_liveness.h"

#include <fmt/format.h>

#include <algorithm>

#include "gates/arm_run.h"

namespace flipgate {
namespace {

// By default where promoted: only the shadowing gates are set.
Variables OnVariables(const RunContext& context, const GateSpec& gate) {
  Variables variables = context.OptInUnshadowed(gate);
  if (!context.IsPromoted(gate.name)) return variables;
  variables.erase(gate.name);
  for (const std::string& need : gate.needs) {
    if (context.IsPromoted(need)) variables.erase(need);
  }
  return variables;
}

// The row `default`: of the promoted gates those that no other promoted gate shadows.
std::vector<const GateSpec*> GatesOf(const RunContext& context) {
  if (context.gate() != nullptr) return {context.gate()};
  std::vector<const GateSpec*> gates;
  for (const GateSpec& gate : context.matrix().gates()) {
    const bool shadowed = std::any_of(gate.shadowed_by.begin(), gate.shadowed_by.end(),
                                      [&](const std::string& s) { return context.IsPromoted(s); });
    if (context.IsPromoted(gate.name) && !shadowed) gates.push_back(&gate);
  }
  return gates;
}

fg::Result<CellResult> CheckLabels(RunContext& context, const CellId& cell) {
  const GateSpec* row = context.gate();
  FG_ASSIGN_OR_RETURN(const auto prompts, CellPrompts(context));
  const Variables variables = row != nullptr ? OnVariables(context, *row) : Variables{};
  FG_ASSIGN_OR_RETURN(const ArmRun run, RunArm(context, Arm::kHead, variables, cell.model, prompts,
                                               CellOptions(context)));
  const LabelCounts& counts = run.counts;
  const FormulaValues& values = run.values;

  int64_t checked = 0, matmuls = 0;
  std::optional<std::string> broken;
  for (const GateSpec* gate : GatesOf(context)) {
    for (const auto* rules : {&gate->live, &gate->dead}) {
      if (broken) continue;
      FG_ASSIGN_OR_RETURN(broken, BrokenRule(*rules, counts, values, &checked));
    }
  }
  for (const auto& [type, count] : values.w16) matmuls += count;
  const int64_t seen = counts.Prefill("mmq.*") + counts.Prefill("gemm.*");
  if (!broken && seen != matmuls * counts.prefills) {
    broken = fmt::format(
        "{} matmuls of 16 rows or more were dispatched, the model has {} for {} prefills", seen,
        matmuls * counts.prefills, counts.prefills);
  }
  if (!broken) broken = UnaskedFallback(counts);
  CellResult result;
  if (broken) {
    result = CellResult::Fail("label", *broken);
  } else if (counts.prefills == 0 || (row != nullptr && checked == 0)) {
    result = CellResult::Fail(
        "label", counts.prefills == 0 ? "no forward had 16 rows or more"
                                      : "no label of the gate was wanted and seen on this model");
  } else {
    result.outcome = Outcome::kPass;
  }
  result.agreement = kBitwise;
  result.figures = {{"prefills", counts.prefills},
                    {"rules_checked", checked},
                    {"prefill_matmuls", seen},
                    {"tokens", CountTokens(run.streams)}};
  result.attachments = {
      {"labels.json", fg::Json{{"variables", variables}, {"labels", LabelsJson(counts)}}.dump(1)}};
  return result;
}

}  // namespace

CellResult RunLiveness(RunContext& context, const CellId& cell) {
  auto result = CheckLabels(context, cell);
  return result.ok() ? *result : context.Stopped(result.status());
}

}  // namespace flipgate
