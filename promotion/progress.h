// What a run shows while it goes: one line that is overwritten on a terminal, one line a cell
// elsewhere.
#pragma once

#include <ostream>
#include <string>

#include "gates/evidence.h"
#include "promotion/cli.h"

namespace flipgate {

class Progress {
 public:
  // Writes to `stream`; `quiet` writes nothing.
  Progress(const Terminal& terminal, std::ostream* stream, bool quiet)
      : terminal_(terminal), stream_(stream), quiet_(quiet) {}

  void Cell(const CellId& id, const CellResult& result, size_t done, size_t total);
  void Note(const std::string& line);
  // Ends the overwritten line.
  void End();

 private:
  void Clear();

  const Terminal& terminal_;
  std::ostream* stream_;
  const bool quiet_;
  bool open_ = false;  // the cursor stands behind a line that is to be overwritten
};

}  // namespace flipgate
