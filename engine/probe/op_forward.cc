#include "engine/probe/op_forward.h"

#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/phase.h"
#include "engine/probe/op_call.h"

namespace fg {
namespace {

Status CheckTokens(const OpTensor& tokens, int64_t vocabulary) {
  const int64_t count = tokens.dim(0);
  if (count < kPrefillRows) {
    return OpMistake("inputs.tokens.shape[0]", "must be at least " + std::to_string(kPrefillRows) +
                                                   ", is " + std::to_string(count));
  }
  for (int64_t i = 0; i < count; ++i) {
    const int32_t id = tokens.i32()[i];
    if (id >= 0 && id < vocabulary) continue;
    return OpMistake("inputs.tokens", "id " + std::to_string(id) + " of token " +
                                          std::to_string(i) + " is outside the vocabulary of " +
                                          std::to_string(vocabulary));
  }
  return Status::Ok();
}

Result<int64_t> ReadWanted(double wanted, int64_t tokens) {
  if (wanted >= 1 && wanted <= static_cast<double>(tokens) && wanted == std::floor(wanted)) {
    return static_cast<int64_t>(wanted);
  }
  return OpMistake("params.wanted",
                   "must be a whole number from 1 to the " + std::to_string(tokens) + " tokens");
}

}  // namespace

Result<Json> RunForwardOp(const OpRequest& request, Engine& engine, Ledger* ledger) {
  static const OpSpec spec = {"forward", {{"tokens", "i32", 1}}, {"wanted"}};
  FG_ASSIGN_OR_RETURN(const OpInputs inputs, ReadOpInputs(request, spec));
  const OpTensor& tokens = inputs.at("tokens");
  const int64_t vocabulary = engine.summary().vocabulary, count = tokens.dim(0);
  FG_RETURN_IF_ERROR(CheckTokens(tokens, vocabulary));
  FG_ASSIGN_OR_RETURN(const int64_t wanted, ReadWanted(request.params.at("wanted"), count));
  const auto before = ledger->counts().dispatch;
  FG_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, engine.NewSession());
  ForwardOptions options;
  options.violation = request.violation;
  std::vector<float> logits;
  FG_RETURN_IF_ERROR(session->Forward({tokens.i32(), static_cast<size_t>(count)},
                                      static_cast<size_t>(count - wanted), options, &logits));
  OpOutput output = MakeOutput("logits", "f32", sizeof(float), {wanted, vocabulary});
  std::memcpy(output.f32(), logits.data(), output.tensor.bytes.size());
  FG_ASSIGN_OR_RETURN(Json written, WriteOutputs({std::move(output)}, request.out));
  return Json{{"outputs", std::move(written)},
              {"labels", NewLabels(before, ledger->counts().dispatch)}};
}

}  // namespace fg
