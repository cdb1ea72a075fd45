// Which cells a command means: --cell KIND/GATE[/MODEL], --without KIND.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "gates/matrix.h"

namespace flipgate {

struct CellSelection {
  std::vector<std::string> cells;    // empty: all. KIND, KIND/GATE or KIND/GATE/MODEL
  std::vector<std::string> without;  // kinds
};

// The cells of `hardware_class` that are meant, in the matrix's order. kUsage: an unknown kind,
// gate or model (with the nearest), a pair that is shared or not applicable (says with what and
// why), a selection that leaves nothing.
fg::Result<std::vector<CellId>> SelectCells(const Matrix& matrix, const std::string& hardware_class,
                                            const CellSelection& selection);

// "KIND/GATE/MODEL". kUsage for anything else.
fg::Result<CellId> ParseCellId(const std::string& text);

}  // namespace flipgate
