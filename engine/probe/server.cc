#include "engine/probe/server.h"

#include <csignal>
#include <new>
#include <utility>

#include "base/nearest.h"
#include "engine/probe/answers.h"
#include "engine/probe/line_io.h"
#include "engine/probe/requests.h"

namespace fg {
namespace {

// "a.b[3]: message" is about a.b[3].
std::string SiteOf(const std::string& message) { return message.substr(0, message.find(": ")); }

std::string KindOf(ErrorKind kind) {
  return ErrorKindName(kind == ErrorKind::kUsage ? ErrorKind::kBadRequest : kind);
}

// Text of files and of the environment may be any bytes; what is no UTF-8 becomes U+FFFD.
std::string Dump(const Json& answer) {
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A message may quote what it complains of, which may be a line of 64 MiB.
std::string Shortened(const std::string& message) {
  constexpr size_t kMost = 2000;
  return message.size() <= kMost ? message : message.substr(0, kMost) + "...";
}

std::string ErrorAnswer(const Json& id, const Status& status, const std::string& site) {
  return Dump({{"id", id},
               {"ok", false},
               {"error",
                {{"kind", KindOf(status.kind())},
                 {"site", site},
                 {"kernel", KernelOf(status.message())},
                 {"message", Shortened(status.message())}}}});
}

// The readers of requests put the site before their message; others name none.
std::string ErrorAnswer(const Json& id, const Status& status, const std::string& word, bool sited) {
  return ErrorAnswer(id, status, sited ? SiteOf(status.message()) : word);
}

bool MayFollowDeviceError(const std::string& word) {
  return word == "hello" || word == "ledger" || word == "memory" || word == "quit";
}

Status Bad(const std::string& message) { return Status(ErrorKind::kUsage, message); }

}  // namespace

ProbeServer::ProbeServer(const Device& device, const Gates& gates, Ledger* ledger,
                         EngineLoader loader)
    : device_(device), gates_(gates), ledger_(ledger), loader_(std::move(loader)) {}

std::string ProbeServer::Answer(std::string_view line) {
  Json id = nullptr;
  std::string word;
  try {
    const auto request = ParseJson(line, "request");
    if (!request.ok()) return ErrorAnswer(id, request.status(), "request");
    JsonFields fields(*request, "request");
    const Json* given = fields.Required("id");
    if (given != nullptr && !given->is_string() && !given->is_number_integer()) {
      fields.Mistake("id",
                     std::string("must be a whole number or a string, is ") + JsonTypeName(*given));
    } else if (given != nullptr) {
      id = *given;
    }
    fields.Required("request", &word);
    if (!fields.ok()) {
      const Status mistake = fields.Finish();
      return ErrorAnswer(id, mistake, SiteOf(mistake.message()));
    }
    std::string site = word;
    auto answer = Dispatch(word, *request, &site);
    if (!answer.ok()) {
      const Status& status = answer.status();
      if (status.kind() == ErrorKind::kDevice) device_error_ = status;
      return ErrorAnswer(id, status, site, status.kind() == ErrorKind::kUsage);
    }
    (*answer)["id"] = id;
    (*answer)["ok"] = true;
    return Dump(*answer);
  } catch (const std::bad_alloc&) {
    return ErrorAnswer(id, Status(ErrorKind::kOutOfMemory, word + ": memory ran out"), word);
  } catch (const std::exception& error) {
    return ErrorAnswer(id, Status(ErrorKind::kInternal, word + ": " + error.what()), word);
  }
}

std::string ProbeServer::AnswerTooLong() const {
  return ErrorAnswer(nullptr, Bad("request: the line is longer than 64 MiB"), "request");
}

Result<Json> ProbeServer::Dispatch(const std::string& word, const Json& request,
                                   std::string* site) {
  const auto& words = ProbeRequests();
  if (std::find(words.begin(), words.end(), word) == words.end()) {
    return Bad("request: unknown request '" + word + "'" + DidYouMean(word, words));
  }
  if (device_error_ && !MayFollowDeviceError(word)) return *device_error_;
  if (word == "load") return Load(request);
  if (word == "generate") return GenerateTokens(request);
  if (word == "score") return Score(request);
  if (word == "bench") return Bench(request);
  if (word == "op") return Operation(request, site);
  FG_RETURN_IF_ERROR(ReadNoFields(request, word));
  if (word == "hello") return HelloJson(gates_, device_.info());
  if (word == "ledger") return LedgerJson(ledger_->Take());
  if (word == "memory") return Memory();
  if (word == "reset") FG_RETURN_IF_ERROR(Reset());
  if (word == "quit") quit_ = true;
  return Json::object();
}

Status ProbeServer::Serve(int input, int output) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that left is an error of the write, not a death
  LineReader reader(input);
  std::string line;
  while (!quit_) {
    FG_ASSIGN_OR_RETURN(const LineReader::Event event, reader.Next(&line));
    if (event == LineReader::Event::kEnd) break;
    FG_RETURN_IF_ERROR(
        WriteLine(output, event == LineReader::Event::kTooLong ? AnswerTooLong() : Answer(line)));
  }
  return Status::Ok();
}

}  // namespace fg
