// One engine process, spoken to by the probe protocol (docs/probe.md). Whatever goes wrong is told
// with the request it happened in, how the process ended and what it said last.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/process.h"
#include "base/status.h"

namespace flipgate {

using Variables = std::map<std::string, std::string>;

struct EngineCommand {
  std::string arm;                             // "head", "snapshot": how messages call it
  std::vector<std::string> command;            // program and arguments
  std::vector<std::string> probe = {"probe"};  // what makes it speak the probe, added to them
};

// How an ask ended.
enum class AskState {
  kAnswer,    // ok: true
  kRefusal,   // ok: false; the process lives on
  kCrash,     // the process ended before it answered
  kProtocol,  // an answer outside the protocol; the process was killed
  kTimeout,   // no answer in time; the process was killed
};

struct Asked {
  AskState state = AskState::kAnswer;
  fg::Json answer;         // kAnswer, kRefusal: the whole answer
  std::string error_kind;  // kRefusal: error.kind
  std::string message;     // all but kAnswer: a sentence
};

class EngineClient {
 public:
  // Starts the command and its probe words with exactly `environment`. kIo when it cannot start.
  static fg::Result<std::unique_ptr<EngineClient>> Start(
      const EngineCommand& command, const std::vector<std::string>& environment);

  // Sends {"id": N, ...request} and reads its answer. After kCrash, kProtocol or kTimeout the
  // process is gone and every later call says so (kCrash).
  Asked Ask(const fg::Json& request, fg::Deadline deadline);

  bool alive() const { return alive_; }
  const std::string& arm() const { return arm_; }
  // quit, a moment of patience, then a kill.
  void Close() { (void)CloseWithin(std::chrono::milliseconds(2000)); }
  // The same with so much patience; how it ended, nothing where it had to be killed.
  std::optional<fg::ExitStatus> CloseWithin(std::chrono::milliseconds patience);

 private:
  EngineClient(std::string arm, std::unique_ptr<fg::ChildProcess> process);
  Asked Lost(AskState state, const fg::Json& request, const std::string& what);

  std::string arm_;
  std::unique_ptr<fg::ChildProcess> process_;
  int64_t next_id_ = 1;
  bool alive_ = true;
  std::string epitaph_;  // why it is not alive
};

// "generate (request 7: session 'a', 21 tokens)": what a person needs to find the request again.
std::string DescribeRequest(const fg::Json& request);

}  // namespace flipgate
