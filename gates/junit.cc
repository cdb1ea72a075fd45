#include "gates/junit.h"

#include <fmt/format.h>

#include <vector>

namespace flipgate {
namespace {

// XML 1.0 has no way to write most control characters, so they become '?'.
std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\n') {
      out += "&#10;";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += '?';
    } else {
      out += c;
    }
  }
  return out;
}

struct Case {
  std::string suite, name;
  double seconds = 0;
  std::string element;  // "failure", "error", "skipped", or "" for a pass
  std::string type, message;
};

Case CaseOf(const Bundle& bundle, const BundleCell& cell) {
  Case result{.suite = cell.id.kind,
              .name = cell.id.Text(),
              .seconds = cell.seconds,
              .element = "",
              .type = OutcomeName(cell.outcome),
              .message = cell.reason};
  if (!cell.category.empty()) result.type += "." + cell.category;
  switch (cell.outcome) {
    case Outcome::kPass:
      break;
    case Outcome::kFail:
    case Outcome::kFlaky:
      result.element = bundle.Waived(cell) ? "skipped" : "failure";
      if (bundle.Waived(cell)) result.message = "waived: " + result.message;
      break;
    case Outcome::kError:
      result.element = "error";
      break;
    case Outcome::kUnsupported:
    case Outcome::kSkipped:
      result.element = "skipped";
      break;
  }
  return result;
}

Case VerdictCase(const Bundle& bundle) {
  const Judgement judgement = bundle.Verdict();
  Case result{.suite = "verdict",
              .name = "verdict/" + bundle.header.hardware_class,
              .seconds = 0,
              .element = "",
              .type = VerdictName(judgement.verdict),
              .message = fmt::format("{}", fmt::join(judgement.reasons, "; "))};
  if (judgement.verdict == Verdict::kRefuted) result.element = "failure";
  if (judgement.verdict == Verdict::kError) result.element = "error";
  if (judgement.verdict == Verdict::kUnproven) result.element = "skipped";
  return result;
}

std::string CaseXml(const Case& test) {
  std::string xml =
      fmt::format("    <testcase classname=\"flipgate.{}\" name=\"{}\" time=\"{:.3f}\"",
                  Escaped(test.suite), Escaped(test.name), test.seconds);
  if (test.element.empty()) return xml + "/>\n";
  const std::string type =
      test.element == "skipped" ? "" : fmt::format(" type=\"{}\"", Escaped(test.type));
  return xml + fmt::format(">\n      <{}{} message=\"{}\"/>\n    </testcase>\n", test.element, type,
                           Escaped(test.message));
}

std::string CountsXml(const std::vector<Case>& cases) {
  size_t failures = 0, errors = 0, skipped = 0;
  double seconds = 0;
  for (const Case& test : cases) {
    failures += test.element == "failure";
    errors += test.element == "error";
    skipped += test.element == "skipped";
    seconds += test.seconds;
  }
  return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\"",
                     cases.size(), failures, errors, skipped, seconds);
}

}  // namespace

std::string JUnitXml(const Bundle& bundle) {
  std::vector<Case> cases;
  for (const BundleCell& cell : bundle.cells) cases.push_back(CaseOf(bundle, cell));
  for (const CellId& id : bundle.pending) {
    cases.push_back({.suite = id.kind,
                     .name = id.Text(),
                     .seconds = 0,
                     .element = "error",
                     .type = "pending",
                     .message = "the run ended without a result"});
  }
  cases.push_back(VerdictCase(bundle));
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  xml += fmt::format("<testsuites name=\"flipgate.{}\" {}>\n",
                     Escaped(bundle.header.hardware_class), CountsXml(cases));
  std::vector<std::string> suites;
  for (const Case& test : cases) {
    if (suites.empty() || suites.back() != test.suite) suites.push_back(test.suite);
  }
  for (const std::string& suite : suites) {
    std::vector<Case> own;
    for (const Case& test : cases) {
      if (test.suite == suite) own.push_back(test);
    }
    xml += fmt::format("  <testsuite name=\"{}\" timestamp=\"{}\" {}>\n", Escaped(suite),
                       Escaped(bundle.header.started.substr(0, 19)), CountsXml(own));
    for (const Case& test : own) xml += CaseXml(test);
    xml += "  </testsuite>\n";
  }
  return xml + "</testsuites>\n";
}

}  // namespace flipgate
