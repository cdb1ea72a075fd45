// Which mode of FG_MMQ_A_FUSE a loaded model runs in: docs/arithmetic.md "The skip-write window".
#pragma once

#include <string>
#include <vector>

#include "engine/gates.h"
#include "engine/ledger.h"
#include "engine/model/hyperparameters.h"

namespace fg {

// What the rules look at.
struct FuseFacts {
  int asked = 0;                     // the gate's mode
  bool needs_on = false;             // all that the gate needs
  int64_t width = 0, ffn = 0;        // of the rows that producers make
  bool nibble_family_only = false;   // every weight of a 16-row matmul is q4_K or q6_K
  bool prefill_gemm = true;          // FG_PREFILL_GEMM
  std::vector<std::string> readers;  // variables of the readers that are asked for
};

struct FuseMode {
  int asked = 0;
  int mode = 0;                           // the lowest that any rule gives
  std::vector<Degradation> degradations;  // one a rule that gave less than was asked, all of them
};

FuseMode ResolveFuseMode(const FuseFacts& facts);

// Reads the gate, and where it is on what it needs, in phase load.
FuseFacts GatherFuseFacts(const Gates& gates, const ModelShape& shape, bool nibble_family_only);

}  // namespace fg
