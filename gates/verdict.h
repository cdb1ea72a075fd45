// From outcomes to verdicts, and waivers. docs/design.md "Evidence".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "gates/evidence.h"

namespace flipgate {

enum class Verdict { kProven, kRefuted, kUnproven, kError };
const char* VerdictName(Verdict verdict);  // "proven", "refuted", "unproven", "error"
// 0, 1, 3, 4.
int VerdictExitCode(Verdict verdict);
// The exit code of a command over several classes: the first of 2, 1, 4, 3, 0 that occurs.
int CombinedExitCode(const std::vector<int>& codes);

// A known failure that does not refute a run until it expires. It proves nothing either: a waived
// cell counts as missing evidence.
struct Waiver {
  CellId cell;
  std::string hardware_class, issue, owner, reason;
  std::string expires;  // YYYY-MM-DD, the first day on which it no longer holds
};

// What a verdict is made of.
struct JudgedCell {
  CellId id;
  std::optional<Outcome> outcome;  // nothing: it has not ended
};

struct Judgement {
  Verdict verdict = Verdict::kUnproven;
  std::vector<std::string> reasons;  // one sentence per cause, most severe first; empty when proven
};

// `date` is YYYY-MM-DD (the run's, UTC). A fault makes the best verdict `unproven`; a waiver of one
// of these cells that has expired is a failure, whatever its cell says.
Judgement Judge(const std::vector<JudgedCell>& cells, const std::vector<Waiver>& waivers,
                const std::string& date, const std::string& fault);

// Whether the waiver still holds on a date.
bool Holds(const Waiver& waiver, const std::string& date);

}  // namespace flipgate
