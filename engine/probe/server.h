// The probe protocol over an engine that may not be loaded yet. docs/probe.md.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"
#include "engine/gates.h"
#include "engine/ledger.h"
#include "engine/session/engine.h"
#include "engine/session/generate.h"

namespace fg {

// How a model is loaded; Engine::Load but in tests.
using EngineLoader =
    std::function<Result<std::unique_ptr<Engine>>(const std::string& path, const EngineOptions&)>;

class ProbeServer {
 public:
  // `device`, `gates` and `ledger` outlive the server.
  ProbeServer(const Device& device, const Gates& gates, Ledger* ledger, EngineLoader loader);

  // The answer to one line, without a newline. Never throws.
  std::string Answer(std::string_view line);
  // The answer to a line beyond the limit.
  std::string AnswerTooLong() const;
  // After an answered `quit`.
  bool quit() const { return quit_; }

  // Reads requests and writes answers until `quit` or the end of the input. kIo when either side
  // breaks. Ignores SIGPIPE from here on.
  Status Serve(int input, int output);

 private:
  // *site is who an error that names none is about: `word`, or a part of it.
  Result<Json> Dispatch(const std::string& word, const Json& request, std::string* site);
  Result<Json> Operation(const Json& request, std::string* site);
  Result<Json> Load(const Json& request);
  Result<Json> GenerateTokens(const Json& request);
  Result<Json> Score(const Json& request);
  Result<Json> Bench(const Json& request);
  Result<Json> Memory() const;
  Status Reset();
  Status RequireEngine(const std::string& word) const;
  // The conversation of that name, made where there is none.
  Result<Conversation*> FindConversation(const std::string& name);

  const Device& device_;
  const Gates& gates_;
  Ledger* ledger_;
  EngineLoader loader_;
  std::unique_ptr<Engine> engine_;
  std::map<std::string, Conversation> conversations_;  // below engine_: it outlives them
  std::optional<Status> device_error_;                 // final
  bool quit_ = false;
};

// The ids of a prompt: special tokens spelt in it are recognized, and one that starts a session is
// preceded by the beginning-of-text token where the model asks for that.
std::vector<int32_t> EncodePrompt(const Tokenizer& tokenizer, std::string_view text,
                                  bool starts_session);

}  // namespace fg
