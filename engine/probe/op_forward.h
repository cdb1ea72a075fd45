// The probe's `op` "forward": tokens through the loaded model, whole or with a promise broken.
#pragma once

#include "base/json.h"
#include "base/status.h"
#include "engine/ledger.h"
#include "engine/probe/requests.h"
#include "engine/session/engine.h"

namespace fg {

// Runs request.inputs.tokens in a session of its own and writes the logits of the last `wanted`
// rows: {"outputs": .., "labels": ..}. With request.violation the forward breaks that promise at
// its first place: kRefused then, nothing is written, and the ledger holds the message; kBadRequest
// where it cannot arise. kUsage "op.SITE: message" for what the request says wrong.
Result<Json> RunForwardOp(const OpRequest& request, Engine& engine, Ledger* ledger);

}  // namespace fg
