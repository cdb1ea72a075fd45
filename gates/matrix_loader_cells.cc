// The block `cells` of the matrix.
#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "gates/matrix_loader.h"

namespace flipgate {

using fg::DidYouMean;
using fg::Result;
using fg::Status;

Status MatrixLoader::LoadCells(const YamlNode& node) {
  FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, node, "cells"));
  for (const YamlNode::Entry& entry : node.entries) {
    if (std::find(kinds_.begin(), kinds_.end(), entry.key) == kinds_.end()) {
      return document_.Error(entry.mark, fmt::format("unknown kind of evidence '{}'{}", entry.key,
                                                     DidYouMean(entry.key, kinds_)));
    }
    FG_RETURN_IF_ERROR(LoadRow(entry.key, entry.value));
  }
  for (const std::string& kind : kinds_) {
    if (map.Optional(kind) != nullptr) continue;
    return document_.Error(
        node.mark, fmt::format("cells says nothing of {}: each kind of evidence has a row", kind));
  }
  return Status::Ok();
}

Status MatrixLoader::LoadRow(const std::string& kind, const YamlNode& node) {
  FG_RETURN_IF_ERROR(YamlMap::Open(document_, node, "cells." + kind).status());
  const std::vector<std::string> rows = matrix_.Rows();
  for (const YamlNode::Entry& entry : node.entries) {
    if (std::find(rows.begin(), rows.end(), entry.key) == rows.end()) {
      return document_.Error(entry.mark, fmt::format("unknown gate '{}' in cells.{}{}", entry.key,
                                                     kind, DidYouMean(entry.key, rows)));
    }
  }
  for (const std::string& row : rows) {
    const auto entry = std::find_if(node.entries.begin(), node.entries.end(),
                                    [&](const YamlNode::Entry& e) { return e.key == row; });
    if (entry == node.entries.end()) {
      return document_.Error(
          node.mark,
          fmt::format("cells says nothing of {}/{}: write required, {{shared_with: GATE}} or "
                      "{{not_applicable: REASON}}",
                      kind, row));
    }
    pair_marks_[kind + "/" + row] = entry->value.mark;
    FG_RETURN_IF_ERROR(LoadPair(kind, row, entry->value));
  }
  return Status::Ok();
}

Status MatrixLoader::LoadPair(const std::string& kind, const std::string& gate,
                              const YamlNode& node) {
  PairSpec pair;
  pair.kind = kind;
  pair.gate = gate;
  if (node.kind == YamlNode::Kind::kMap) {
    FG_RETURN_IF_ERROR(LoadPairMap(&pair, node));
  } else if (node.kind != YamlNode::Kind::kScalar || node.scalar != "required") {
    const std::string shown =
        node.kind == YamlNode::Kind::kScalar ? "'" + node.scalar + "'" : "a list";
    return document_.Error(node.mark,
                           fmt::format("{}/{} must be required, {{shared_with: GATE}} or "
                                       "{{not_applicable: REASON}}, is {}",
                                       kind, gate, shown));
  } else {
    FG_RETURN_IF_ERROR(CheckMeasured(pair, node.mark));
  }
  matrix_.pairs_.push_back(std::move(pair));
  return Status::Ok();
}

Status MatrixLoader::LoadPairMap(PairSpec* pair, const YamlNode& node) {
  const std::string what = fmt::format("cells.{}.{}", pair->kind, pair->gate);
  FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, node, what));
  const YamlNode* required = map.Optional("required");
  const YamlNode* shared = map.Optional("shared_with");
  const YamlNode* reason = map.Optional("not_applicable");
  const int statuses = (required != nullptr) + (shared != nullptr) + (reason != nullptr);
  const YamlNode* classes = required != nullptr ? map.Optional("classes") : nullptr;
  FG_RETURN_IF_ERROR(map.Finish());
  if (statuses != 1) {
    return document_.Error(node.mark,
                           what + " must say one of required, shared_with and not_applicable");
  }
  if (required != nullptr) {
    FG_RETURN_IF_ERROR(CheckMeasured(*pair, required->mark));
    FG_ASSIGN_OR_RETURN(pair->models, KnownNames(*required, what + ".required",
                                                 ModelsOf(pair->kind), "model of this kind"));
    if (pair->models.empty())
      return document_.Error(required->mark, what + ".required holds no model");
    FG_ASSIGN_OR_RETURN(pair->classes, Classes(classes, what + ".classes"));
  } else if (shared != nullptr) {
    pair->status = PairSpec::Status::kShared;
    FG_ASSIGN_OR_RETURN(pair->shared_with, document_.String(*shared, what + ".shared_with"));
  } else {
    pair->status = PairSpec::Status::kNotApplicable;
    FG_ASSIGN_OR_RETURN(pair->reason, document_.String(*reason, what + ".not_applicable"));
  }
  return Status::Ok();
}

// Of a kind, whatever the class.
std::vector<std::string> MatrixLoader::ModelsOf(const std::string& kind) const {
  std::vector<std::string> models = matrix_.FindEvidence(kind)->models;
  const auto of_kind = matrix_.evidence_of_.find(kind);
  if (of_kind == matrix_.evidence_of_.end()) return models;
  for (const auto& [hardware_class, own] : of_kind->second)
    models.insert(models.end(), own.models.begin(), own.models.end());
  return models;
}

// What is required must say how it is measured.
Status MatrixLoader::CheckMeasured(const PairSpec& pair, YamlMark mark) const {
  if (matrix_.FindEvidence(pair.kind) != nullptr) return Status::Ok();
  return document_.Error(
      mark, fmt::format("{0}/{1} is required, but evidence has no '{0}'", pair.kind, pair.gate));
}

// A shared pair leans on a pair that is itself measured, not on another promise.
Status MatrixLoader::CheckShares() const {
  for (const PairSpec& pair : matrix_.pairs_) {
    if (pair.status != PairSpec::Status::kShared) continue;
    const YamlMark mark = pair_marks_.at(pair.kind + "/" + pair.gate);
    const PairSpec* target = matrix_.FindPair(pair.kind, pair.shared_with);
    if (target == nullptr) {
      return document_.Error(
          mark, fmt::format("{}/{} is shared with '{}', which is no gate{}", pair.kind, pair.gate,
                            pair.shared_with, DidYouMean(pair.shared_with, matrix_.Rows())));
    }
    if (target->status == PairSpec::Status::kRequired) continue;
    return document_.Error(
        mark, fmt::format("{}/{} is shared with {}, whose own pair is not required", pair.kind,
                          pair.gate, pair.shared_with));
  }
  return Status::Ok();
}

}  // namespace flipgate
