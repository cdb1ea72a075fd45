// An engine on a model file with an environment of its own, for tests.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/gates.h"
#include "engine/ledger.h"
#include "engine/session/engine.h"

namespace fg::testing {

// The gates of class "other" (every default is off) under `environment`, on one thread unless
// it says otherwise. Aborts where they refuse.
Gates GatesOf(const std::vector<std::string>& environment, Ledger* ledger);

struct TestEngine {
  // Aborts where the model does not load.
  TestEngine(const std::string& path, const std::vector<std::string>& environment,
             const EngineOptions& options = {.context = 0, .batch = 512, .poison = true});

  Device device;
  Ledger ledger;
  Gates gates;
  std::unique_ptr<Engine> engine;

  // The logits of tokens[first..] in a session of its own; aborts on an error.
  std::vector<float> Logits(std::span<const int32_t> tokens, size_t first = 0,
                            const ForwardOptions& options = {});
};

}  // namespace fg::testing
