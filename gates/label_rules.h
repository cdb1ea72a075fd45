// Counting dispatch labels against the rules of a gate (docs/matrix.md "Labels").
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gates/matrix.h"
#include "gates/run_context.h"

namespace flipgate {

// A ledger answer, as far as labels go.
struct LabelCounts {
  std::map<std::string, int64_t> prefill,
      decode;                         // label -> count, matmuls and all other operations
  int64_t prefills = 0, decodes = 0;  // forwards

  static LabelCounts FromLedger(const fg::Json& ledger);
  int64_t Prefill(const std::string& pattern) const;  // sum over the labels that match
};

FormulaValues ValuesFor(const LabelCounts& counts, const fg::Json& load);

// The first rule that does not hold, as a sentence with the count seen and the count wanted. Counts
// what was checked into *checked (a rule that wants more than 0 and got it).
fg::Result<std::optional<std::string>> BrokenRule(const std::vector<LabelRule>& rules,
                                                  const LabelCounts& counts,
                                                  const FormulaValues& values, int64_t* checked);

// A label that carries '!': a fallback that nobody asked for.
std::optional<std::string> UnaskedFallback(const LabelCounts& counts);

fg::Json LabelsJson(const LabelCounts& counts);

}  // namespace flipgate
