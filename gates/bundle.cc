#include "gates/bundle.h"

#include <algorithm>
#include <functional>

namespace flipgate {
namespace {

Judgement JudgeSome(const Bundle& bundle, const std::function<bool(const CellId&)>& meant) {
  std::vector<JudgedCell> cells;
  for (const BundleCell& cell : bundle.cells) {
    if (meant(cell.id)) cells.push_back({cell.id, cell.outcome});
  }
  for (const CellId& id : bundle.pending) {
    if (meant(id)) cells.push_back({id, std::nullopt});
  }
  std::vector<Waiver> waivers;
  for (const Waiver& waiver : bundle.waivers) {
    if (meant(waiver.cell)) waivers.push_back(waiver);
  }
  return Judge(cells, waivers, bundle.Date(), bundle.header.fault);
}

}  // namespace

const BundleCell* Bundle::Find(const CellId& id) const {
  const auto found = std::find_if(cells.begin(), cells.end(),
                                  [&](const BundleCell& cell) { return cell.id == id; });
  return found == cells.end() ? nullptr : &*found;
}

std::string Bundle::Date() const { return header.started.substr(0, 10); }

Judgement Bundle::Verdict() const {
  return JudgeSome(*this, [](const CellId&) { return true; });
}

Judgement Bundle::GateVerdict(const std::string& row) const {
  return JudgeSome(*this, [&](const CellId& id) {
    if (id.gate == row || id.gate == kDefaultRow) return true;
    return std::any_of(pairs.begin(), pairs.end(), [&](const BundlePair& pair) {
      return pair.status == BundlePair::Status::kShared && pair.gate == row &&
             pair.kind == id.kind && pair.shared_with == id.gate;
    });
  });
}

bool Bundle::Waived(const BundleCell& cell) const {
  if (cell.outcome != Outcome::kFail && cell.outcome != Outcome::kFlaky) return false;
  return std::any_of(waivers.begin(), waivers.end(), [&](const Waiver& waiver) {
    return waiver.cell == cell.id && Holds(waiver, Date());
  });
}

std::map<std::string, int64_t> Bundle::Counts() const {
  std::map<std::string, int64_t> counts = {{"waived", 0},
                                           {"pending", static_cast<int64_t>(pending.size())}};
  for (const Outcome outcome : {Outcome::kPass, Outcome::kFail, Outcome::kFlaky,
                                Outcome::kUnsupported, Outcome::kSkipped, Outcome::kError}) {
    counts[OutcomeName(outcome)] = 0;
  }
  for (const BundleCell& cell : cells) {
    ++counts[OutcomeName(cell.outcome)];
    counts["waived"] += Waived(cell);
  }
  counts["cells"] = static_cast<int64_t>(cells.size() + pending.size());
  return counts;
}

std::vector<BundlePair> PairsWithoutCells(const Matrix& matrix, const std::string& hardware_class) {
  const std::vector<CellId> cells = matrix.Cells(hardware_class);
  std::vector<BundlePair> pairs;
  for (const PairSpec& spec : matrix.pairs()) {
    if (!matrix.GateInScope(spec.gate, hardware_class)) continue;  // no row there
    const bool has_cell = std::any_of(cells.begin(), cells.end(), [&](const CellId& cell) {
      return cell.kind == spec.kind && cell.gate == spec.gate;
    });
    if (has_cell) continue;
    BundlePair pair{.kind = spec.kind,
                    .gate = spec.gate,
                    .status = BundlePair::Status::kOutOfScope,
                    .shared_with = spec.shared_with,
                    .reason = spec.reason};
    if (!matrix.KindInScope(spec.kind, hardware_class)) {
      pair.shared_with = pair.reason = "";
      pairs.push_back(std::move(pair));
      continue;
    }
    if (spec.status == PairSpec::Status::kShared) pair.status = BundlePair::Status::kShared;
    if (spec.status == PairSpec::Status::kNotApplicable)
      pair.status = BundlePair::Status::kNotApplicable;
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

}  // namespace flipgate
