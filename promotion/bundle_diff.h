// Two bundles beside each other: what became worse, better or just different from A to B.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "gates/bundle.h"

namespace flipgate {

struct CellChange {
  enum class Kind { kWorse, kBetter, kChanged, kAppeared, kVanished };
  std::string cell;
  Kind kind = Kind::kChanged;
  std::string a, b;    // outcomes; "" where the cell is not there
  std::string reason;  // B's, or A's where the cell vanished
  bool worse = false;  // B has less here: a lower outcome, a pass that vanished, a new cell that
                       // failed
};
const char* ChangeName(CellChange::Kind kind);  // "worse", "better", "changed", ...

struct FigureMove {
  std::string cell, figure;  // "logits.max"
  double a = 0, b = 0;
  double share = 0;  // |b - a| / |a|; infinite where a is 0
};

struct FieldDifference {
  std::string name, a, b;  // "hashes.engine"
};

struct BundleDiff {
  std::vector<CellChange> cells;
  std::vector<FieldDifference> verdicts;  // "verdict" and the gates whose verdict changed
  bool verdict_worse = false;
  std::vector<FigureMove> figures;  // moved by more than the share
  std::vector<FieldDifference>
      fields;       // what the bundles are about: class, hashes, snapshot, build
  size_t same = 0;  // cells with the same outcome

  bool Worse() const;
  bool SameOutcomes() const { return cells.empty() && verdicts.empty(); }
};

// `share` of 0.1: figures that moved by more than 10 %. Cells in the order of B, then those that
// vanished in that of A.
BundleDiff DiffBundles(const Bundle& a, const Bundle& b, double share);

}  // namespace flipgate
