#include "gates/evidence_sanitizer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>

#include "base/file.h"
#include "base/process.h"
#include "gates/run_context.h"
#include "gates/streams.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;
using fg::Json;

// A tool writes its report after the engine has ended.
constexpr std::chrono::seconds kReportPatience{120};
constexpr size_t kMostLogBytes = 256 << 10;

struct ToolRun {
  std::string name;  // "memcheck", "memcheck-eager"
  std::optional<int64_t> errors;
  std::string excuse, ended, log;
  std::string trouble;  // the ask that got no answer; "" where all did
  std::vector<Stream> streams;
};

bool IsProgram(const fs::path& path) {
  return fs::is_regular_file(path) && ::access(path.c_str(), X_OK) == 0;
}

// Where the program lies: as it is with a slash in it, else on PATH, else in the folders that the
// matrix names. "" for nowhere.
std::string FindProgram(const std::string& name, const std::vector<std::string>& folders) {
  if (name.find('/') != std::string::npos) return IsProgram(name) ? name : "";
  std::vector<std::string> all;
  for (const std::string& entry : fg::PassedEnvironment({"PATH"})) {
    std::istringstream words(entry.substr(entry.find('=') + 1));
    for (std::string folder; std::getline(words, folder, ':');) all.push_back(folder);
  }
  all.insert(all.end(), folders.begin(), folders.end());
  for (const std::string& folder : all) {
    if (!folder.empty() && IsProgram(fs::path(folder) / name)) return folder + "/" + name;
  }
  return "";
}

void Replace(std::string* word, const std::string& from, const std::string& to) {
  const size_t at = word->find(from);
  if (at != std::string::npos) word->replace(at, from.size(), to);
}

Json Prompt(const RunContext& context, const Json& load) {
  const int64_t vocabulary = load.value("model", Json::object()).value("vocabulary", int64_t{1});
  std::vector<int64_t> tokens(static_cast<size_t>(context.spec().Integer("prompt_tokens")));
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<int64_t>(i * 7 + 1) % vocabulary;
  return {{"request", "generate"},
          {"session", "sanitizer"},
          {"tokens", tokens},
          {"max_tokens", context.spec().Integer("tokens")},
          {"stop_at_eos", false}};
}

// The tokens and digests of an answer, under one name.
Stream StreamOf(const Json& answer) {
  Stream stream;
  stream.prompt = "sanitizer";
  stream.tokens = answer.value("tokens", std::vector<int64_t>{});
  stream.digests = answer.value("digests", std::vector<std::string>{});
  stream.digests.resize(stream.tokens.size());
  stream.top.resize(stream.tokens.size());
  return stream;
}

// The engine as the tool's child: load, generate, quit. What it was that got no answer is told, not
// an error: the log may say why.
fg::Result<ToolRun> RunTool(RunContext& context, std::vector<std::string> command,
                            const std::string& tool, const std::string& name,
                            const Variables& variables) {
  ToolRun run;
  run.name = name;
  const std::string log = fmt::format("{}/{}.log", context.scratch(), run.name);
  for (std::string& word : command) {
    Replace(&word, "{tool}", tool);
    Replace(&word, "{log}", log);
  }
  FG_ASSIGN_OR_RETURN(const std::string model, context.ModelPath(context.cell().model));
  FG_ASSIGN_OR_RETURN(const auto client, context.HeadUnder(command, variables));
  const auto ask = [&](const Json& request) {
    Asked asked = client->Ask(request, context.deadline());
    if (asked.state != AskState::kAnswer && run.trouble.empty()) run.trouble = asked.message;
    return asked.answer;
  };
  const Json load = ask({{"request", "load"}, {"model", model}});
  Json generated;
  if (run.trouble.empty()) generated = ask(Prompt(context, load));
  if (run.trouble.empty()) run.streams = {StreamOf(generated)};
  const auto end = client->CloseWithin(kReportPatience);
  run.ended = end ? end->Text() : "it had to be killed";
  if (fs::exists(log)) {
    FG_ASSIGN_OR_RETURN(run.log, fg::ReadFile(log));
  }
  run.errors = ToolErrors(run.log);
  run.excuse = ToolExcuse(run.log);
  return run;
}

// The first lines of a report, for a person.
std::string FirstFinding(const std::string& log) {
  std::istringstream lines(log);
  std::string text;
  int kept = 0;
  for (std::string line; kept < 3 && std::getline(lines, line);) {
    Replace(&line, "=========", "");
    const size_t from = line.find_first_not_of(" \r\t");
    if (from == std::string::npos || line.find("COMPUTE-SANITIZER") != std::string::npos) continue;
    text += (kept++ == 0 ? "" : "; ") + line.substr(from);
  }
  return text;
}

// How one run ended for the cell; nothing where it is clean.
std::optional<CellResult> Judge(const ToolRun& run, const std::vector<Stream>& plain) {
  if (run.errors && *run.errors != 0) {
    return CellResult::Fail("sanitizer", fmt::format("{}: {} errors; first: {}", run.name,
                                                     *run.errors, FirstFinding(run.log)));
  }
  if (!run.errors && !run.excuse.empty())
    return CellResult::Unsupported(run.name + ": " + run.excuse);
  if (!run.trouble.empty()) return CellResult::Fail("crash", run.name + ": " + run.trouble);
  if (!run.errors) {
    return CellResult::Error(
        fmt::format("{}: no closing line with a count of errors; {}; its report begins: {}",
                    run.name, run.ended, run.log.empty() ? "(nothing)" : FirstFinding(run.log)));
  }
  if (auto fork = FindFork(plain, "the engine alone", run.streams, "the engine under " + run.name))
    return CellResult::Fail("fork", *fork);
  return std::nullopt;
}

struct Way {
  std::string suffix;  // "", "-eager"
  Variables variables;
  std::vector<Stream> plain;  // the streams without a tool
};

fg::Result<std::vector<Way>> PlainRuns(RunContext& context) {
  const Json& fields = context.spec().fields;
  Variables captured;
  if (fields.contains("variables")) captured = fields.at("variables").get<Variables>();
  Variables eager = captured;
  for (const auto& [name, value] : fields.at("eager").get<Variables>()) eager[name] = value;
  std::vector<Way> ways = {{"", captured, {}}, {"-eager", eager, {}}};
  for (Way& way : ways) {
    FG_ASSIGN_OR_RETURN(CellEngine engine,
                        context.Engine(Arm::kHead, way.variables, context.cell().model));
    FG_ASSIGN_OR_RETURN(const Json answer, engine.Ask(Prompt(context, engine.load())));
    way.plain = {StreamOf(answer)};
  }
  return ways;
}

fg::Result<CellResult> Check(RunContext& context) {
  const auto words = context.spec().fields.at("command").get<std::vector<std::string>>();
  const auto folders = context.spec().fields.at("search").get<std::vector<std::string>>();
  std::vector<std::string> command = words;
  command[0] = FindProgram(words[0], folders);
  if (command[0].empty()) {
    return CellResult::Unsupported(
        fmt::format("{} is neither on PATH nor in {}; install it, or name its folder in "
                    "evidence.sanitizer.search",
                    words[0], fmt::join(folders, ", ")));
  }
  FG_ASSIGN_OR_RETURN(const std::vector<Way> ways, PlainRuns(context));
  std::optional<CellResult> found;
  Json figures = Json::object();
  std::vector<Attachment> logs;
  int64_t clean = 0;
  for (const Json& tool : context.spec().fields.at("tools")) {
    for (const Way& way : ways) {
      const auto name = tool.get<std::string>();
      FG_ASSIGN_OR_RETURN(const ToolRun run,
                          RunTool(context, command, name, name + way.suffix, way.variables));
      const auto verdict = Judge(run, way.plain);
      figures[run.name] = {{"errors", run.errors ? Json(*run.errors) : Json()},
                           {"ended", run.ended}};
      logs.push_back({run.name + ".log", run.log.substr(0, kMostLogBytes)});
      clean += verdict ? 0 : 1;
      // A failure outweighs what could not be said.
      if (verdict &&
          (!found || (found->outcome != Outcome::kFail && verdict->outcome == Outcome::kFail)))
        found = verdict;
    }
  }
  CellResult result = found ? *found : CellResult{};
  if (!found && clean == 0)
    result = CellResult::Fail("protocol", "no tool was named, so nothing was looked at");
  else if (!found)
    result.outcome = Outcome::kPass;
  result.agreement = kBitwise;
  result.figures = {{"tools", figures},
                    {"clean_runs", clean},
                    {"tokens_compared", CountTokens(ways[0].plain) + CountTokens(ways[1].plain)}};
  result.attachments = std::move(logs);
  return result;
}

}  // namespace

std::optional<int64_t> ToolErrors(const std::string& log) {
  static const std::regex kClosing(R"((?:ERROR|RACECHECK) SUMMARY: (\d+) (?:error|hazard))");
  std::optional<int64_t> errors;
  for (auto found = std::sregex_iterator(log.begin(), log.end(), kClosing);
       found != std::sregex_iterator(); ++found) {
    errors = std::stoll((*found)[1]);  // the last one is the closing line
  }
  return errors;
}

std::string ToolExcuse(const std::string& log) {
  static const std::regex kExcuse(
      R"(not supported|unsupported|Internal Sanitizer Error|Insufficient permission|Unable to|failed to initialize|Error: (?:No|Failed|Target))",
      std::regex::icase);
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_search(line, kExcuse)) continue;
    Replace(&line, "=========", "");
    const size_t from = line.find_first_not_of(" \t");
    return from == std::string::npos ? line : line.substr(from);
  }
  return "";
}

CellResult RunSanitizer(RunContext& context, const CellId&) {
  auto result = Check(context);
  return result.ok() ? *result : context.Stopped(result.status());
}

}  // namespace flipgate
