#include "gates/label_rules.h"

#include <fmt/format.h>

#include "gates/mode_gate.h"

namespace flipgate {

LabelCounts LabelCounts::FromLedger(const fg::Json& ledger) {
  LabelCounts counts;
  for (const fg::Json& entry : ledger.value("dispatch", fg::Json::array())) {
    auto& of_phase = entry.value("phase", "") == "prefill" ? counts.prefill : counts.decode;
    of_phase[entry.value("label", "")] += entry.value("count", int64_t{0});
  }
  const fg::Json forwards = ledger.value("forwards", fg::Json::object());
  counts.prefills = forwards.value("prefill", int64_t{0});
  counts.decodes = forwards.value("decode", int64_t{0});
  return counts;
}

int64_t LabelCounts::Prefill(const std::string& pattern) const {
  int64_t sum = 0;
  for (const auto& [label, count] : prefill) {
    if (LabelMatches(pattern, label)) sum += count;
  }
  return sum;
}

FormulaValues ValuesFor(const LabelCounts& counts, const fg::Json& load) {
  FormulaValues values;
  const fg::Json model = load.value("model", fg::Json::object());
  // Named, for items() of a temporary would outlive it.
  const fg::Json w16 = model.value("w16", fg::Json::object());
  const fg::Json w16_values = model.value("w16_values", fg::Json::object());
  for (const auto& [type, count] : w16.items()) {
    values.w16[type] = count.get<int64_t>();
  }
  for (const auto& [type, count] : w16_values.items()) {
    values.v16[type] = count.get<int64_t>();
  }
  values.layers = model.value("layers", int64_t{0});
  values.prefills = counts.prefills;
  values.skip_write = SkipWriteFits(load) ? 1 : 0;
  return values;
}

fg::Result<std::optional<std::string>> BrokenRule(const std::vector<LabelRule>& rules,
                                                  const LabelCounts& counts,
                                                  const FormulaValues& values, int64_t* checked) {
  for (const LabelRule& rule : rules) {
    FG_ASSIGN_OR_RETURN(const int64_t wanted, rule.formula.Value(values));
    const int64_t seen = counts.Prefill(rule.pattern);
    if (!rule.formula.Holds(seen, wanted)) {
      return std::optional<std::string>(fmt::format(
          "label '{}' was counted {} times in prefill, the matrix wants {} (that is {})",
          rule.pattern, seen, rule.formula.text(), wanted));
    }
    if (wanted > 0 && seen > 0) ++*checked;
  }
  return std::optional<std::string>();
}

std::optional<std::string> UnaskedFallback(const LabelCounts& counts) {
  for (const auto* phase : {&counts.prefill, &counts.decode}) {
    for (const auto& [label, count] : *phase) {
      if (label.find('!') == std::string::npos) continue;
      return fmt::format("label '{}' was counted {} times: a fallback that nobody asked for", label,
                         count);
    }
  }
  return std::nullopt;
}

fg::Json LabelsJson(const LabelCounts& counts) {
  return {{"prefill", counts.prefill},
          {"decode", counts.decode},
          {"prefills", counts.prefills},
          {"decodes", counts.decodes}};
}

}  // namespace flipgate
