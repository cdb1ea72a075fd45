// What the operations of the probe's `op` share: their inputs at hand, their outputs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "engine/backend/operations.h"
#include "engine/ledger.h"
#include "engine/probe/op_inputs.h"

namespace fg {

struct OpOutput {
  const char* name;
  OpTensor tensor;

  float* f32() { return reinterpret_cast<float*>(tensor.bytes.data()); }
};
using OpOutputs = std::vector<OpOutput>;

// What an operation needs at hand.
struct OpCall {
  Operations& operations;
  const OpInputs& inputs;
  const std::map<std::string, double>& params;

  const OpTensor& input(const char* name) const { return inputs.at(name); }
  bool has(const char* name) const { return inputs.contains(name); }
};

// A result of this shape, not yet computed, every byte `fill`. Throws bad_alloc where it cannot be
// held, as the allocation itself would.
OpOutput MakeOutput(const char* name, const char* dtype, size_t value_bytes,
                    std::vector<int64_t> shape, char fill = '\0');

// kUsage where `tensor`, the input `site`, has another shape than `wanted`.
Status SameShape(const std::string& site, const OpTensor& tensor,
                 const std::vector<int64_t>& wanted);

// The operations of tiles: op_tiles.cc. Their outputs are filled with 0xA5 before, so that what was
// not written shows.
Result<OpOutputs> QuantizeTilesOp(const OpCall& call);
Result<OpOutputs> RmsNormTilesOp(const OpCall& call);
Result<OpOutputs> SwigluTilesOp(const OpCall& call);

// Writes each output to FOLDER/NAME.bin and gives the answer's `outputs`. kIo.
Result<Json> WriteOutputs(const OpOutputs& outputs, const std::string& folder);

// What was counted beyond `before`, as the answer's `labels`.
Json NewLabels(const std::map<Ledger::DispatchKey, uint64_t>& before,
               std::map<Ledger::DispatchKey, uint64_t> after);

}  // namespace fg
