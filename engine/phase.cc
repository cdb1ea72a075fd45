#include "engine/phase.h"

namespace fg {

const char* PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kLoad:
      return "load";
    case Phase::kGraph:
      return "graph";
    case Phase::kPrefill:
      return "prefill";
    case Phase::kDecode:
      return "decode";
  }
  return "?";
}

}  // namespace fg
