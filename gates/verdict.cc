#include "gates/verdict.h"

#include <fmt/format.h>

#include <algorithm>

namespace flipgate {
namespace {

constexpr size_t kNamed = 5;

// "2 cells failed: a, b"; more than five are counted.
std::string Sentence(const char* what, const std::vector<std::string>& names) {
  std::string text =
      fmt::format("{} {} {}: ", names.size(), names.size() == 1 ? "cell" : "cells", what);
  const size_t shown = std::min(names.size(), kNamed);
  text += fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

const Waiver* WaiverOf(const CellId& cell, const std::vector<Waiver>& waivers) {
  const auto found = std::find_if(waivers.begin(), waivers.end(),
                                  [&](const Waiver& waiver) { return waiver.cell == cell; });
  return found == waivers.end() ? nullptr : &*found;
}

// Cells by what they mean for the verdict.
struct Sorted {
  std::vector<std::string> failed, flaky, expired, errors, skipped, unsupported, waived, pending;
};

void Sort(const JudgedCell& cell, const Waiver* waiver, const std::string& date, Sorted* sorted) {
  const std::string name = cell.id.Text();
  const bool holds = waiver != nullptr && Holds(*waiver, date);
  if (waiver != nullptr && !holds) {
    sorted->expired.push_back(
        fmt::format("{} (on {}, {}, {})", name, waiver->expires, waiver->issue, waiver->owner));
  }
  if (!cell.outcome) return sorted->pending.push_back(name);
  switch (*cell.outcome) {
    case Outcome::kPass:
      return;
    case Outcome::kFail:
      return (holds ? sorted->waived : sorted->failed).push_back(name);
    case Outcome::kFlaky:
      return (holds ? sorted->waived : sorted->flaky).push_back(name);
    case Outcome::kError:
      return sorted->errors.push_back(name);
    case Outcome::kSkipped:
      return sorted->skipped.push_back(name);
    case Outcome::kUnsupported:
      return sorted->unsupported.push_back(name);
  }
}

}  // namespace

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kProven:
      return "proven";
    case Verdict::kRefuted:
      return "refuted";
    case Verdict::kUnproven:
      return "unproven";
    case Verdict::kError:
      return "error";
  }
  return "error";
}

int VerdictExitCode(Verdict verdict) {
  switch (verdict) {
    case Verdict::kProven:
      return 0;
    case Verdict::kRefuted:
      return 1;
    case Verdict::kUnproven:
      return 3;
    case Verdict::kError:
      return 4;
  }
  return 4;
}

int CombinedExitCode(const std::vector<int>& codes) {
  for (const int code : {2, 1, 4, 3, 0}) {
    if (std::find(codes.begin(), codes.end(), code) != codes.end()) return code;
  }
  return 3;  // nothing ran, so nothing is proven
}

bool Holds(const Waiver& waiver, const std::string& date) { return date < waiver.expires; }

Judgement Judge(const std::vector<JudgedCell>& cells, const std::vector<Waiver>& waivers,
                const std::string& date, const std::string& fault) {
  Sorted sorted;
  for (const JudgedCell& cell : cells) Sort(cell, WaiverOf(cell.id, waivers), date, &sorted);
  Judgement judgement;
  judgement.verdict = Verdict::kProven;
  const auto weigh = [&](Verdict verdict, const char* what, const std::vector<std::string>& names) {
    if (names.empty()) return;
    if (judgement.verdict == Verdict::kProven) judgement.verdict = verdict;
    judgement.reasons.push_back(Sentence(what, names));
  };
  weigh(Verdict::kRefuted, "failed", sorted.failed);
  weigh(Verdict::kRefuted, "failed in some runs and not in others", sorted.flaky);
  weigh(Verdict::kRefuted, "with a waiver that has expired", sorted.expired);
  weigh(Verdict::kError, "ended in an error", sorted.errors);
  weigh(Verdict::kUnproven, "failed under a waiver", sorted.waived);
  weigh(Verdict::kUnproven, "skipped", sorted.skipped);
  weigh(Verdict::kUnproven, "unsupported", sorted.unsupported);
  weigh(Verdict::kUnproven, "without a result", sorted.pending);
  if (cells.empty() || !fault.empty()) {
    if (judgement.verdict == Verdict::kProven) judgement.verdict = Verdict::kUnproven;
    if (cells.empty()) judgement.reasons.push_back("no cell is in scope");
    if (!fault.empty())
      judgement.reasons.push_back("made with the fault '" + fault + "', which is never a proof");
  }
  return judgement;
}

}  // namespace flipgate
