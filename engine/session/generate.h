// Choosing tokens: greedy and seeded sampling over a session.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/session/engine.h"

namespace fg {

struct SamplingOptions {
  double temperature = 0;  // 0: greedy, ties to the lowest id
  uint64_t seed = 1;
  int top_k = 0;     // 0: all
  double top_p = 1;  // in (0, 1]
};

struct GenerateOptions {
  int64_t max_tokens = 32;
  SamplingOptions sampling = {};
  ForwardOptions forward = {};  // its argmax is Generate's own
  int top = 0;                  // highest logits reported per step, 0 to 64
  bool stop_at_eos = true;
  bool digests = false;
};

struct Generation {
  std::vector<int32_t> tokens;
  std::vector<std::string> digests;                         // sha256 of each step's logits
  std::vector<std::vector<std::pair<int32_t, float>>> top;  // per step, descending
  std::string finish;                                       // "length", "eos", "context"
};

// A conversation: a session plus the last token that was chosen but not fed yet.
struct Conversation {
  std::unique_ptr<Session> session;
  std::vector<int32_t> unfed;
};

// Feeds conversation.unfed and `prompt`, then chooses up to max_tokens tokens. `on_token` (may be
// empty) is called for each as it is chosen. kBadRequest as Session::Forward; kInternal on NaN
// logits when sampling (greedy skips NaN: a row of NaN only is kInternal).
Result<Generation> Generate(const Engine& engine, Conversation& conversation,
                            std::span<const int32_t> prompt, const GenerateOptions& options,
                            const std::function<void(int32_t)>& on_token);

}  // namespace fg
