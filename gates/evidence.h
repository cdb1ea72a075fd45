// What a kind of evidence is to the runner: a function from a cell to a result. One file per kind,
// evidence_KIND.{h,cc}; the table of kinds is evidence_kinds.cc.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace flipgate {

// How a cell ends. docs/design.md "Evidence".
enum class Outcome { kPass, kFail, kFlaky, kUnsupported, kSkipped, kError };
const char* OutcomeName(
    Outcome outcome);  // "pass", "fail", "flaky", "unsupported", "skipped", "error"

std::optional<Outcome> OutcomeOfName(const std::string& name);

// Raw evidence: kept beside the bundle under raw/SHA256 and named in the cell.
struct Attachment {
  std::string name;  // "streams.json"
  std::string bytes;
};

struct CellResult {
  Outcome outcome = Outcome::kError;
  std::string reason;  // empty for a pass; else a sentence that a person can act on
  std::string
      category;  // for fail: "mismatch", "crash", "protocol", "budget", "label", ...; else ""
  std::string agreement;                              // "bitwise" or the named tolerance
  nlohmann::json figures = nlohmann::json::object();  // counts and measures, flat where possible
  std::vector<Attachment> attachments;
  std::vector<std::string> labels;  // "phase op label" this cell's value checks reached
  double seconds = 0;

  static CellResult Fail(std::string category, std::string reason);
  static CellResult Error(std::string reason);
  static CellResult Skipped(std::string reason);
  static CellResult Unsupported(std::string reason);
};

// KIND/GATE/MODEL; gate may be "default".
struct CellId {
  std::string kind, gate, model;
  std::string Text() const { return kind + "/" + gate + "/" + model; }
  bool operator==(const CellId&) const = default;
};

class RunContext;  // gates/run_context.h: matrix, arms, engines, fixtures

using EvidenceFunction = CellResult (*)(RunContext& context, const CellId& cell);

struct EvidenceKind {
  const char* name;      // "parity"
  const char* question;  // "is the number right?"
  const char* defends;   // the class of defect, for `explain`
  const char*
      independent_arm;  // where its expected value comes from, independently of the path under test
  const char* bisect;   // how a bisect may use it as a predicate, or why not
  EvidenceFunction run;
};

const std::vector<EvidenceKind>& AllEvidenceKinds();

}  // namespace flipgate
