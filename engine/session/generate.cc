#include "engine/session/generate.h"

#include <string>
#include <utility>

#include "base/sha256.h"
#include "engine/backend/argmax.h"
#include "engine/session/sampler.h"

namespace fg {
namespace {

constexpr int kMostTop = 64;

Status Check(std::span<const int32_t> tokens, const GenerateOptions& options) {
  const auto bad = [](std::string message) {
    return Status(ErrorKind::kBadRequest, std::move(message));
  };
  if (tokens.empty()) return bad("the prompt is empty");
  if (options.max_tokens < 0) {
    return bad("max_tokens is " + std::to_string(options.max_tokens) + "; 0 or more");
  }
  if (options.top < 0 || options.top > kMostTop) {
    return bad("top is " + std::to_string(options.top) + "; expected 0 to 64");
  }
  return CheckSampling(options.sampling);
}

std::string Digest(std::span<const float> logits) { return Sha256Hex(std::as_bytes(logits)); }

// What a step's forward gives: its logits, or the highest one's id alone where no more is asked.
struct StepResult {
  std::vector<float> logits;
  std::vector<int32_t> argmax;
};

bool NeedsLogits(const GenerateOptions& options) {
  return options.digests || options.top > 0 || options.sampling.temperature > 0;
}

class Chooser {
 public:
  explicit Chooser(const SamplingOptions& options) : options_(options), random_(options.seed) {}

  Result<int32_t> Choose(const StepResult& step) {
    if (options_.temperature > 0) return Sample(step.logits, options_, random_.NextUnit());
    const int32_t token = step.argmax.empty() ? HighestId(step.logits) : step.argmax[0];
    if (token >= 0) return token;
    return Status(ErrorKind::kInternal, "all logits are NaN; no token can be chosen");
  }

 private:
  SamplingOptions options_;
  SplitMix64 random_;
};

// Runs `tokens`; the last one's result, where it is wanted, goes to *step.
Status RunStep(Session& session, std::span<const int32_t> tokens, bool wanted,
               const GenerateOptions& options, StepResult* step) {
  *step = {};
  ForwardOptions forward = options.forward;
  const bool logits = NeedsLogits(options);
  forward.argmax = logits ? nullptr : &step->argmax;
  return session.Forward(tokens, wanted ? tokens.size() - 1 : tokens.size(), forward,
                         logits ? &step->logits : nullptr);
}

// Books a step's logits and chooses its token.
Result<int32_t> TakeStep(const StepResult& step, const GenerateOptions& options, Chooser& chooser,
                         Generation* generation) {
  if (options.digests) generation->digests.push_back(Digest(step.logits));
  if (options.top > 0) generation->top.push_back(Highest(step.logits, options.top));
  auto token = chooser.Choose(step);
  if (token.ok()) return token;
  return token.status().WithContext("step " + std::to_string(generation->tokens.size()));
}

}  // namespace

Result<Generation> Generate(const Engine& engine, Conversation& conversation,
                            std::span<const int32_t> prompt, const GenerateOptions& options,
                            const std::function<void(int32_t)>& on_token) {
  std::vector<int32_t> tokens = conversation.unfed;
  tokens.insert(tokens.end(), prompt.begin(), prompt.end());
  FG_RETURN_IF_ERROR(Check(tokens, options));
  Session& session = *conversation.session;
  const bool wanted = options.max_tokens > 0;
  Generation generation;
  generation.finish = "length";
  StepResult step;
  FG_RETURN_IF_ERROR(RunStep(session, tokens, wanted, options, &step));
  conversation.unfed.clear();
  Chooser chooser(options.sampling);
  while (wanted) {
    FG_ASSIGN_OR_RETURN(const int32_t token, TakeStep(step, options, chooser, &generation));
    generation.tokens.push_back(token);
    conversation.unfed = {token};
    if (on_token) on_token(token);
    if (options.stop_at_eos && token == engine.tokenizer().eos()) {
      generation.finish = "eos";
      break;
    }
    if (static_cast<int64_t>(generation.tokens.size()) == options.max_tokens) break;
    if (session.position() == engine.context()) {
      generation.finish = "context";
      break;
    }
    FG_RETURN_IF_ERROR(RunStep(session, conversation.unfed, true, options, &step));
    conversation.unfed.clear();
  }
  return generation;
}

}  // namespace fg
