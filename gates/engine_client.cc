#include "gates/engine_client.h"

#include <fmt/format.h>

namespace flipgate {
namespace {

using fg::Json;

// The last lines of standard error, short enough for a message.
std::string LastWords(const std::string& tail) {
  constexpr size_t kMost = 400;
  size_t end = tail.find_last_not_of(" \n\r\t");
  if (end == std::string::npos) return "it said nothing on standard error";
  const std::string trimmed = tail.substr(0, end + 1);
  const std::string kept =
      trimmed.size() > kMost ? "..." + trimmed.substr(trimmed.size() - kMost) : trimmed;
  return "it last said: " + kept;
}

}  // namespace

std::string DescribeRequest(const Json& request) {
  std::string text = request.value("request", "?");
  std::vector<std::string> details;
  if (request.contains("session"))
    details.push_back("session '" + request["session"].get<std::string>() + "'");
  if (request.contains("tokens"))
    details.push_back(fmt::format("{} tokens", request["tokens"].size()));
  if (request.contains("prompt")) {
    details.push_back(
        fmt::format("a prompt of {} bytes", request["prompt"].get<std::string>().size()));
  }
  if (request.contains("op")) details.push_back("op " + request["op"].get<std::string>());
  text += fmt::format(" (request {}", request.value("id", 0));
  if (!details.empty()) text += fmt::format(": {}", fmt::join(details, ", "));
  return text + ")";
}

fg::Result<std::unique_ptr<EngineClient>> EngineClient::Start(
    const EngineCommand& command, const std::vector<std::string>& environment) {
  fg::ProcessSpec spec;
  spec.argv = command.command;
  spec.argv.insert(spec.argv.end(), command.probe.begin(), command.probe.end());
  spec.environment = environment;
  auto process = fg::ChildProcess::Start(spec);
  if (!process.ok()) return process.status().WithContext("engine '" + command.arm + "'");
  return std::unique_ptr<EngineClient>(new EngineClient(command.arm, std::move(process).value()));
}

EngineClient::EngineClient(std::string arm, std::unique_ptr<fg::ChildProcess> process)
    : arm_(std::move(arm)), process_(std::move(process)) {}

Asked EngineClient::Lost(AskState state, const Json& request, const std::string& what) {
  // A process that closed its output is usually on its way out: give it the time to say how.
  auto end = state == AskState::kCrash ? process_->Wait(fg::After(std::chrono::milliseconds(2000)))
                                       : std::nullopt;
  const std::string how = end ? "it ended with " + end->Text() : "it was killed";
  if (!end) process_->Kill();
  alive_ = false;
  epitaph_ = fmt::format("engine '{}' {} while it answered {}; {}; {}", arm_, what,
                         DescribeRequest(request), how, LastWords(process_->StderrTail()));
  return {state, {}, "", epitaph_};
}

Asked EngineClient::Ask(const Json& request, fg::Deadline deadline) {
  if (!alive_) return {AskState::kCrash, {}, "", epitaph_ + " (an earlier request)"};
  Json sent = request;
  const int64_t id = next_id_++;
  sent["id"] = id;
  if (!process_->WriteLine(sent.dump(), deadline).ok()) {
    return Lost(AskState::kCrash, sent, "took no request");
  }
  const fg::LineRead line = process_->ReadLine(deadline);
  switch (line.state) {
    case fg::LineRead::State::kLine:
      break;
    case fg::LineRead::State::kEnd:
      return Lost(AskState::kCrash, sent, "died");
    case fg::LineRead::State::kPartial:
      return Lost(AskState::kCrash, sent, "died in the middle of a line");
    case fg::LineRead::State::kTimeout:
      return Lost(AskState::kTimeout, sent, "gave no answer in time");
    case fg::LineRead::State::kTooLong:
      return Lost(AskState::kProtocol, sent, "wrote a line beyond 64 MiB");
  }
  auto answer = fg::ParseJson(line.text, "answer");
  if (!answer.ok() || !answer->is_object()) {
    return Lost(AskState::kProtocol, sent,
                "wrote a line that is no JSON object: '" + line.text.substr(0, 80) + "'");
  }
  if (!answer->contains("id") || (*answer)["id"] != id) {
    return Lost(AskState::kProtocol, sent, "answered another request");
  }
  if (!answer->contains("ok") || !(*answer)["ok"].is_boolean()) {
    return Lost(AskState::kProtocol, sent, "answered without 'ok'");
  }
  if ((*answer)["ok"].get<bool>()) return {AskState::kAnswer, std::move(*answer), "", ""};
  const Json error = answer->value("error", Json::object());
  const std::string kind = error.value("kind", "internal");
  const std::string message =
      fmt::format("engine '{}' answered {} with {}: {}", arm_, DescribeRequest(sent), kind,
                  error.value("message", "(no message)"));
  return {AskState::kRefusal, std::move(*answer), kind, message};
}

std::optional<fg::ExitStatus> EngineClient::CloseWithin(std::chrono::milliseconds patience) {
  if (!alive_) return std::nullopt;
  alive_ = false;
  epitaph_ = "engine '" + arm_ + "' was closed";
  const fg::Deadline soon = fg::After(patience);
  if (process_->WriteLine(Json{{"id", next_id_}, {"request", "quit"}}.dump(), soon).ok()) {
    process_->CloseInput();
    if (auto end = process_->Wait(soon)) return end;
  }
  process_->Kill();
  return std::nullopt;
}

}  // namespace flipgate
