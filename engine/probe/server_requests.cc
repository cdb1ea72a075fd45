// The requests that need an engine.
#include <string_view>

#include "base/file.h"
#include "base/sha256.h"
#include "engine/probe/answers.h"
#include "engine/probe/bench.h"
#include "engine/probe/op.h"
#include "engine/probe/op_forward.h"
#include "engine/probe/requests.h"
#include "engine/probe/server.h"

namespace fg {
namespace {

Status Bad(const std::string& message) { return Status(ErrorKind::kUsage, message); }

// Ids and rows that only the loaded model can judge.
Status CheckTokens(const Engine& engine, const std::string& word,
                   const std::vector<int32_t>& tokens, const ForwardOptions& forward) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < engine.summary().vocabulary) continue;
    return Bad(word + ".tokens[" + std::to_string(i) + "]: id " + std::to_string(tokens[i]) +
               " is outside the vocabulary of " + std::to_string(engine.summary().vocabulary));
  }
  if (forward.rows_per_forward > engine.batch()) {
    return Bad(word + ".rows_per_forward: must be at most the batch of " +
               std::to_string(engine.batch()) + ", is " + std::to_string(forward.rows_per_forward));
  }
  return Status::Ok();
}

Json TopJson(const Generation& generation) {
  Json steps = Json::array();
  for (const auto& highest : generation.top) {
    Json step = Json::array();
    for (const auto& [id, logit] : highest) step.push_back(Json::array({id, logit}));
    steps.push_back(std::move(step));
  }
  return steps;
}

std::string TextOf(const Tokenizer& tokenizer, const std::vector<int32_t>& tokens) {
  StreamDecoder decoder(tokenizer);
  std::string text;
  for (const int32_t token : tokens) text += decoder.Push(token);
  return text + decoder.Finish();
}

}  // namespace

std::vector<int32_t> EncodePrompt(const Tokenizer& tokenizer, std::string_view text,
                                  bool starts_session) {
  std::vector<int32_t> tokens = tokenizer.Encode(text, true);
  if (starts_session && tokenizer.add_bos() && tokenizer.bos() >= 0) {
    tokens.insert(tokens.begin(), tokenizer.bos());
  }
  return tokens;
}

Status ProbeServer::RequireEngine(const std::string& word) const {
  if (engine_ != nullptr) return Status::Ok();
  return Bad(word + ": no model is loaded; send 'load' first");
}

Result<Json> ProbeServer::Load(const Json& request) {
  FG_ASSIGN_OR_RETURN(const LoadRequest load, ReadLoad(request));
  if (engine_ != nullptr) {
    return Bad("load: a model is loaded already; one process serves one model");
  }
  auto loaded = loader_(load.model, load.options);
  if (!loaded.ok()) {
    // The engine speaks of its options; here they are the request's.
    const bool usage = loaded.status().kind() == ErrorKind::kUsage;
    return usage ? loaded.status().WithContext("load") : loaded.status();
  }
  engine_ = std::move(loaded).value();
  FG_ASSIGN_OR_RETURN(Json memory, Memory());
  return Json{{"model", ModelJson(engine_->summary())},
              {"nibble_family_only", engine_->summary().registered.nibble_family_only},
              {"planes", PlanesJson(engine_->summary().registered)},
              {"fuse_mode", FuseModeJson(engine_->summary().registered)},
              {"degradations", DegradationsJson(ledger_->counts().degradations)},
              {"batch", engine_->batch()},
              {"milliseconds", engine_->load_milliseconds()},
              {"memory", std::move(memory)}};
}

Result<Conversation*> ProbeServer::FindConversation(const std::string& name) {
  const auto known = conversations_.find(name);
  if (known != conversations_.end()) return &known->second;
  FG_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine_->NewSession());
  return &(conversations_[name] = {std::move(session), {}});
}

Result<Json> ProbeServer::GenerateTokens(const Json& request) {
  FG_ASSIGN_OR_RETURN(GenerateRequest generate, ReadGenerate(request));
  FG_RETURN_IF_ERROR(RequireEngine("generate"));
  FG_RETURN_IF_ERROR(CheckTokens(*engine_, "generate", generate.tokens, generate.options.forward));
  const bool is_new = !conversations_.contains(generate.session);
  FG_ASSIGN_OR_RETURN(Conversation * conversation, FindConversation(generate.session));
  if (generate.prompt) {
    generate.tokens = EncodePrompt(engine_->tokenizer(), *generate.prompt, is_new);
  }
  const auto made = Generate(*engine_, *conversation, generate.tokens, generate.options, {});
  if (!made.ok()) {
    // After a request that was refused nothing ran; a name that it introduced is new again.
    if (is_new) conversations_.erase(generate.session);
    return made.status();
  }
  return Json{{"prompt_tokens", generate.tokens},
              {"tokens", made->tokens},
              {"text", TextOf(engine_->tokenizer(), made->tokens)},
              {"digests", made->digests},
              {"top", TopJson(*made)},
              {"finish", made->finish},
              {"position", conversation->session->position()}};
}

Result<Json> ProbeServer::Score(const Json& request) {
  FG_ASSIGN_OR_RETURN(const ScoreRequest score, ReadScore(request));
  FG_RETURN_IF_ERROR(RequireEngine("score"));
  FG_RETURN_IF_ERROR(CheckTokens(*engine_, "score", score.tokens, score.forward));
  FG_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, engine_->NewSession());
  std::vector<float> logits;
  FG_RETURN_IF_ERROR(
      session->Forward(score.tokens, static_cast<size_t>(score.first), score.forward, &logits));
  const std::string_view bytes(reinterpret_cast<const char*>(logits.data()),
                               logits.size() * sizeof(float));
  FG_RETURN_IF_ERROR(WriteFileAtomic(score.out, bytes));
  return Json{{"rows", static_cast<int64_t>(score.tokens.size()) - score.first},
              {"vocabulary", engine_->summary().vocabulary},
              {"file", score.out},
              {"digest", Sha256Hex(bytes)}};
}

Result<Json> ProbeServer::Bench(const Json& request) {
  FG_ASSIGN_OR_RETURN(const BenchRequest bench, ReadBench(request));
  FG_RETURN_IF_ERROR(RequireEngine("bench"));
  BenchSeries prefill, decode;
  if (bench.prefill > 0) {
    FG_ASSIGN_OR_RETURN(prefill, BenchPrefill(*engine_, bench.prefill, bench.repetitions));
  }
  if (bench.decode > 0) {
    FG_ASSIGN_OR_RETURN(decode,
                        BenchDecode(*engine_, bench.decode, bench.context, bench.repetitions));
  }
  return Json{{"prefill",
               {{"tokens", bench.prefill},
                {"seconds", prefill.seconds},
                {"tokens_per_second", prefill.TokensPerSecond()}}},
              {"decode",
               {{"tokens", bench.decode},
                {"context", bench.context},
                {"seconds", decode.seconds},
                {"tokens_per_second", decode.TokensPerSecond()}}}};
}

Result<Json> ProbeServer::Operation(const Json& request, std::string* site) {
  FG_ASSIGN_OR_RETURN(const OpRequest op, ReadOp(request));
  if (op.op != "forward") return RunOp(op, device_, gates_, ledger_);
  *site = "op.forward";
  FG_RETURN_IF_ERROR(RequireEngine("op.forward"));
  return RunForwardOp(op, *engine_, ledger_);
}

Result<Json> ProbeServer::Memory() const {
  FG_ASSIGN_OR_RETURN(const SystemMemory system, ReadSystemMemory());
  if (engine_ == nullptr) return MemoryJson(MemoryBook(), system);
  return MemoryJson(engine_->memory(), system, engine_->device_memory());
}

Status ProbeServer::Reset() {
  conversations_.clear();
  if (engine_ != nullptr) engine_->DropGraphs();
  ledger_->Take();
  return Status::Ok();
}

}  // namespace fg
