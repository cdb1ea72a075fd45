#include "gates/cells.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"

namespace flipgate {
namespace {

using fg::ErrorKind;
using fg::Result;
using fg::Status;

// KIND, KIND/GATE or KIND/GATE/MODEL; what is left out is "".
struct Pattern {
  std::string kind, gate, model;
  bool Matches(const CellId& cell) const {
    return cell.kind == kind && (gate.empty() || cell.gate == gate) &&
           (model.empty() || cell.model == model);
  }
};

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  size_t start = 0;
  for (size_t end; (end = text.find('/', start)) != std::string::npos; start = end + 1) {
    parts.push_back(text.substr(start, end - start));
  }
  parts.push_back(text.substr(start));
  return parts;
}

Status Usage(const std::string& message) { return Status(ErrorKind::kUsage, message); }

std::vector<std::string> KindNames(const Matrix& matrix) {
  std::vector<std::string> kinds;
  for (const PairSpec& pair : matrix.pairs()) {
    if (kinds.empty() || kinds.back() != pair.kind) kinds.push_back(pair.kind);
  }
  return kinds;
}

Status Known(const std::string& option, const std::string& noun, const std::string& word,
             const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), word) != known.end()) return Status::Ok();
  return Usage(
      fmt::format("{}: unknown {} '{}'{}", option, noun, word, fg::DidYouMean(word, known)));
}

Result<Pattern> ParsePattern(const Matrix& matrix, const std::string& text) {
  const std::string option = "--cell " + text;
  const std::vector<std::string> parts = Split(text);
  if (parts.size() > 3) return Usage(option + ": a cell is KIND, KIND/GATE or KIND/GATE/MODEL");
  FG_RETURN_IF_ERROR(Known(option, "kind of evidence", parts[0], KindNames(matrix)));
  Pattern pattern{parts[0], "", ""};
  if (parts.size() > 1) {
    FG_RETURN_IF_ERROR(Known(option, "gate", parts[1], matrix.Rows()));
    pattern.gate = parts[1];
  }
  if (parts.size() > 2) {
    std::vector<std::string> models;
    for (const ModelSpec& model : matrix.models()) models.push_back(model.name);
    FG_RETURN_IF_ERROR(Known(option, "model", parts[2], models));
    pattern.model = parts[2];
  }
  return pattern;
}

// Why a known pattern means no cell here.
Status NoCell(const Matrix& matrix, const std::string& hardware_class, const std::string& text,
              const Pattern& pattern) {
  const PairSpec* pair =
      pattern.gate.empty() ? nullptr : matrix.FindPair(pattern.kind, pattern.gate);
  const std::string option = "--cell " + text;
  if (pair != nullptr && pair->status == PairSpec::Status::kShared) {
    return Usage(fmt::format("{0}: {1}/{2} is shared with {3}; run --cell {1}/{3}", option,
                             pair->kind, pair->gate, pair->shared_with));
  }
  if (pair != nullptr && pair->status == PairSpec::Status::kNotApplicable) {
    return Usage(fmt::format("{}: {}/{} is not applicable: {}", option, pair->kind, pair->gate,
                             pair->reason));
  }
  return Usage(fmt::format("{}: no such cell on class {}; `flipgate list` shows those there are",
                           option, hardware_class));
}

}  // namespace

Result<CellId> ParseCellId(const std::string& text) {
  const std::vector<std::string> parts = Split(text);
  const bool empty =
      std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return part.empty(); });
  if (parts.size() != 3 || empty)
    return Usage(fmt::format("'{}' is no cell: KIND/GATE/MODEL", text));
  return CellId{parts[0], parts[1], parts[2]};
}

Result<std::vector<CellId>> SelectCells(const Matrix& matrix, const std::string& hardware_class,
                                        const CellSelection& selection) {
  const std::vector<CellId> all = matrix.Cells(hardware_class);
  if (all.empty())
    return Usage(fmt::format("the matrix holds no cell for class '{}'", hardware_class));
  std::vector<Pattern> patterns;
  for (const std::string& text : selection.cells) {
    FG_ASSIGN_OR_RETURN(const Pattern pattern, ParsePattern(matrix, text));
    const bool any = std::any_of(all.begin(), all.end(),
                                 [&](const CellId& cell) { return pattern.Matches(cell); });
    if (!any) return NoCell(matrix, hardware_class, text, pattern);
    patterns.push_back(pattern);
  }
  for (const std::string& kind : selection.without) {
    FG_RETURN_IF_ERROR(Known("--without " + kind, "kind of evidence", kind, KindNames(matrix)));
  }
  std::vector<CellId> meant;
  for (const CellId& cell : all) {
    const bool named = patterns.empty() ||
                       std::any_of(patterns.begin(), patterns.end(),
                                   [&](const Pattern& pattern) { return pattern.Matches(cell); });
    const bool left_out = std::find(selection.without.begin(), selection.without.end(),
                                    cell.kind) != selection.without.end();
    if (named && !left_out) meant.push_back(cell);
  }
  if (meant.empty()) return Usage("--cell and --without together leave no cell");
  return meant;
}

}  // namespace flipgate
