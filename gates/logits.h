// Logits of an engine for given tokens, read from the file that `score` writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gates/run_context.h"

namespace flipgate {

struct Logits {
  int64_t rows = 0, vocabulary = 0;
  std::vector<float> values;  // [rows][vocabulary]
  const float* row(int64_t r) const { return values.data() + r * vocabulary; }
};

// Scores `tokens` in one forward (as far as the engine's batch goes), or in forwards of
// `rows_per_forward` where it is not 0; logits from position `first` on. The file is checked
// against its digest and size; `name` names it within the cell's scratch folder.
fg::Result<Logits> Score(RunContext& context, CellEngine& engine,
                         const std::vector<int64_t>& tokens, int64_t first, const std::string& name,
                         int64_t rows_per_forward = 0);

}  // namespace flipgate
