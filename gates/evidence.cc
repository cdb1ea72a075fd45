#include "gates/evidence.h"

namespace flipgate {
namespace {

CellResult Ended(Outcome outcome, std::string category, std::string reason) {
  CellResult result;
  result.outcome = outcome;
  result.category = std::move(category);
  result.reason = std::move(reason);
  return result;
}

}  // namespace

const char* OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "pass";
    case Outcome::kFail:
      return "fail";
    case Outcome::kFlaky:
      return "flaky";
    case Outcome::kUnsupported:
      return "unsupported";
    case Outcome::kSkipped:
      return "skipped";
    case Outcome::kError:
      return "error";
  }
  return "error";
}

std::optional<Outcome> OutcomeOfName(const std::string& name) {
  for (const Outcome outcome : {Outcome::kPass, Outcome::kFail, Outcome::kFlaky,
                                Outcome::kUnsupported, Outcome::kSkipped, Outcome::kError}) {
    if (name == OutcomeName(outcome)) return outcome;
  }
  return std::nullopt;
}

CellResult CellResult::Fail(std::string category, std::string reason) {
  return Ended(Outcome::kFail, std::move(category), std::move(reason));
}
CellResult CellResult::Error(std::string reason) {
  return Ended(Outcome::kError, "", std::move(reason));
}
CellResult CellResult::Skipped(std::string reason) {
  return Ended(Outcome::kSkipped, "", std::move(reason));
}
CellResult CellResult::Unsupported(std::string reason) {
  return Ended(Outcome::kUnsupported, "", std::move(reason));
}

}  // namespace flipgate
