// The mode gate that a kind of evidence is about: the row's, or for `default` the one that head
// has. docs/gates.md says what its modes are; the load answer says which one came of it.
#pragma once

#include <set>
#include <string>

#include "gates/run_context.h"

namespace flipgate {

// kUsage where the row is no mode gate, or head has none or more than one.
fg::Result<const GateSpec*> ModeGateOf(const RunContext& context);

// Head's variables with `gate` in the mode `text`: opted in with its needs, and for the row
// `default` every other gate on too.
Variables InMode(const RunContext& context, const GateSpec& gate, const std::string& text);

// What load said of the mode.
struct ToldMode {
  std::string asked, mode;
  std::set<std::string> reasons;  // of the degradations that start from the gate
  bool operator==(const ToldMode&) const = default;
  std::string Text() const;  // "asked 2, mode 1, reasons [weight_mix]"
};
ToldMode ReadMode(const fg::Json& load, const std::string& gate);

// What the load answer's own table of weights and widths makes of an asked mode, by the ladder of
// docs/arithmetic.md. `extra` holds reasons that the environment gives for mode 1 ("reader
// FG_TRACE").
ToldMode ExpectedMode(const fg::Json& load, const std::string& asked,
                      const std::set<std::string>& extra = {});

// Whether each weight of a 16-row matmul is of the nibble family, by the load answer's table.
bool NibbleFamilyOnly(const fg::Json& load);

// Whether the model's weights and widths, by the load answer's table, allow mode 2 at all.
bool SkipWriteFits(const fg::Json& load);

// The fused producers' labels against the mode: all norms and swiglus in front of a 16-row matmul,
// and none of another mode.
std::optional<std::string> FuseLabelFault(const fg::Json& load, const fg::Json& ledger,
                                          const std::string& mode);

}  // namespace flipgate
