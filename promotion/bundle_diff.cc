#include "promotion/bundle_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace flipgate {
namespace {

using fg::Json;

// A figure deeper or wider than this is not made for comparing by eye.
constexpr int kMostDepth = 8;
constexpr size_t kMostElements = 64;

// 0 passed, 1 says nothing, 2 speaks against.
int Rank(const Bundle& bundle, const BundleCell& cell) {
  switch (cell.outcome) {
    case Outcome::kPass:
      return 0;
    case Outcome::kSkipped:
    case Outcome::kUnsupported:
      return 1;
    case Outcome::kFail:
    case Outcome::kFlaky:
      return bundle.Waived(cell) ? 1 : 2;
    case Outcome::kError:
      return 2;
  }
  return 2;
}

int VerdictRank(Verdict verdict) {
  static constexpr int kRanks[] = {0, 3, 1, 2};  // proven, refuted, unproven, error
  return kRanks[static_cast<int>(verdict)];
}

void Flatten(const Json& figures, const std::string& name, int depth,
             std::map<std::string, double>* out) {
  if (figures.is_number()) (*out)[name] = figures.get<double>();
  if (!figures.is_structured() || depth > kMostDepth || figures.size() > kMostElements) return;
  for (const auto& [key, value] : figures.items())
    Flatten(value, name.empty() ? key : name + "." + key, depth + 1, out);
}

void CompareFigures(const BundleCell& a, const BundleCell& b, double share, BundleDiff* diff) {
  std::map<std::string, double> before, after;
  Flatten(a.figures, "", 0, &before);
  Flatten(b.figures, "", 0, &after);
  for (const auto& [name, value] : after) {
    const auto old = before.find(name);
    if (old == before.end() || old->second == value) continue;
    const double moved = old->second == 0 ? std::numeric_limits<double>::infinity()
                                          : std::fabs(value - old->second) / std::fabs(old->second);
    if (moved > share) diff->figures.push_back({b.id.Text(), name, old->second, value, moved});
  }
}

CellChange Changed(const Bundle& a, const BundleCell& before, const Bundle& b,
                   const BundleCell& after) {
  CellChange change{.cell = after.id.Text(),
                    .a = OutcomeName(before.outcome),
                    .b = OutcomeName(after.outcome),
                    .reason = after.reason};
  const int was = Rank(a, before), is = Rank(b, after);
  change.worse = is > was;
  change.kind = is > was   ? CellChange::Kind::kWorse
                : is < was ? CellChange::Kind::kBetter
                           : CellChange::Kind::kChanged;
  return change;
}

void CompareCells(const Bundle& a, const Bundle& b, double share, BundleDiff* diff) {
  for (const BundleCell& cell : b.cells) {
    const BundleCell* before = a.Find(cell.id);
    if (before == nullptr) {
      diff->cells.push_back({.cell = cell.id.Text(),
                             .kind = CellChange::Kind::kAppeared,
                             .a = "",
                             .b = OutcomeName(cell.outcome),
                             .reason = cell.reason,
                             .worse = Rank(b, cell) == 2});
      continue;
    }
    CompareFigures(*before, cell, share, diff);
    if (before->outcome == cell.outcome && Rank(a, *before) == Rank(b, cell)) {
      ++diff->same;
    } else {
      diff->cells.push_back(Changed(a, *before, b, cell));
    }
  }
  for (const BundleCell& cell : a.cells) {
    if (b.Find(cell.id) != nullptr) continue;
    diff->cells.push_back({.cell = cell.id.Text(),
                           .kind = CellChange::Kind::kVanished,
                           .a = OutcomeName(cell.outcome),
                           .b = "",
                           .reason = cell.reason,
                           .worse = Rank(a, cell) == 0});
  }
}

void CompareVerdicts(const Bundle& a, const Bundle& b, BundleDiff* diff) {
  const auto compare = [&](const std::string& name, Verdict was, Verdict is) {
    if (was == is) return;
    diff->verdicts.push_back({name, VerdictName(was), VerdictName(is)});
    diff->verdict_worse = diff->verdict_worse || VerdictRank(is) > VerdictRank(was);
  };
  compare("verdict", a.Verdict().verdict, b.Verdict().verdict);
  for (const std::string& row : b.rows) {
    if (std::find(a.rows.begin(), a.rows.end(), row) == a.rows.end()) continue;
    compare(row, a.GateVerdict(row).verdict, b.GateVerdict(row).verdict);
  }
}

std::string Field(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::vector<std::pair<std::string, std::string>> Fields(const Bundle& bundle) {
  const BundleHeader& header = bundle.header;
  return {{"hardware_class", header.hardware_class},
          {"subject", header.subject},
          {"fault", header.fault},
          {"selection", fmt::format("{}", fmt::join(header.selection, ", "))},
          {"device.name", Field(header.device, "name")},
          {"device.level", Field(header.device, "level")},
          {"hashes.engine", header.hashes.engine},
          {"hashes.defaults", header.hashes.defaults},
          {"hashes.suite", header.hashes.suite},
          {"hashes.matrix", header.hashes.matrix},
          {"hashes.recipe", header.hashes.recipe},
          {"snapshot.engine", header.snapshot.engine},
          {"snapshot.defaults", header.snapshot.defaults},
          {"snapshot.absent", header.snapshot.absent},
          {"build.commit", Field(header.build, "commit")},
          {"build.dirty", Field(header.build, "dirty")},
          {"build.toolchain", Field(header.build, "toolchain")}};
}

}  // namespace

const char* ChangeName(CellChange::Kind kind) {
  static constexpr const char* kNames[] = {"worse", "better", "changed", "appeared", "vanished"};
  return kNames[static_cast<int>(kind)];
}

bool BundleDiff::Worse() const {
  return verdict_worse || std::any_of(cells.begin(), cells.end(),
                                      [](const CellChange& change) { return change.worse; });
}

BundleDiff DiffBundles(const Bundle& a, const Bundle& b, double share) {
  BundleDiff diff;
  CompareCells(a, b, share, &diff);
  CompareVerdicts(a, b, &diff);
  const auto before = Fields(a), after = Fields(b);
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].second != after[i].second)
      diff.fields.push_back({before[i].first, before[i].second, after[i].second});
  }
  return diff;
}

}  // namespace flipgate
