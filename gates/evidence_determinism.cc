#include "gates/evidence_determinism.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "gates/arm_run.h"
#include "gates/blind_spots.h"
#include "gates/stream_margin.h"

namespace flipgate {
namespace {

using fg::Json;
using Tokens = std::vector<int64_t>;

constexpr int64_t kTailTokens = 7;  // fewer than 16: they take the path of few rows

// One way of asking.
struct Way {
  std::string name;
  int64_t rows = 0;      // a forward at most; 0: the engine's batch
  int64_t uncached = 0;  // of the long prompt, fed after the rest; 0: this way asks the prompts
  std::string against;   // the way that its tokens are held to; "" for none
};

std::vector<Way> Ways(const RunContext& context) {
  const int64_t prefix = context.spec().Integer("prefix_tokens");
  std::vector<Way> ways = {{"whole", 0, 0, ""}};
  for (const Json& rows : context.spec().fields.at("rows")) {
    const auto count = rows.get<int64_t>();
    ways.push_back({fmt::format("{} rows a forward", count), count, 0, "whole"});
  }
  ways.push_back({"cold prefix", 0, prefix, ""});
  ways.push_back({"cached prefix", 0, 1, "cold prefix"});
  ways.push_back(
      {fmt::format("cached but for {} tokens", kTailTokens), 0, kTailTokens, "cold prefix"});
  return ways;
}

// Any tokens will do: what is held is that they give the same each time.
Tokens LongPrompt(const RunContext& context, const CellEngine& engine) {
  const int64_t vocabulary =
      engine.load().value("model", Json::object()).value("vocabulary", int64_t{1});
  Tokens tokens(static_cast<size_t>(context.spec().Integer("prefix_tokens")));
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<int64_t>(i * 7 + 1) % vocabulary;
  return tokens;
}

fg::Result<std::vector<Stream>> AskLong(RunContext& context, CellEngine& engine, const Way& way,
                                        const std::string& session) {
  const Tokens prompt = LongPrompt(context, engine);
  const auto cached = static_cast<std::ptrdiff_t>(
      std::max<int64_t>(0, static_cast<int64_t>(prompt.size()) - way.uncached));
  if (cached > 0) {
    FG_RETURN_IF_ERROR(engine
                           .Ask({{"request", "generate"},
                                 {"session", session},
                                 {"tokens", Tokens(prompt.begin(), prompt.begin() + cached)},
                                 {"max_tokens", 0}})
                           .status());
  }
  FG_ASSIGN_OR_RETURN(Stream stream,
                      AskStream(engine, "prefix",
                                {{"session", session},
                                 {"tokens", Tokens(prompt.begin() + cached, prompt.end())},
                                 {"max_tokens", context.spec().Integer("tokens")}}));
  stream.prompt_tokens = prompt;  // however it was fed
  return std::vector<Stream>{std::move(stream)};
}

fg::Result<std::vector<Stream>> AskWay(RunContext& context, CellEngine& engine, const Way& way,
                                       const std::vector<Prompt>& prompts, int64_t repeat) {
  const std::string tag = fmt::format("{}-{}", way.name, repeat);
  if (way.uncached > 0) return AskLong(context, engine, way, tag);
  std::vector<Stream> streams;
  for (const Prompt& prompt : prompts) {
    Json request = {{"session", tag + "-" + prompt.name},
                    {"prompt", prompt.text},
                    {"max_tokens", context.spec().Integer("tokens")}};
    if (way.rows > 0) request["rows_per_forward"] = way.rows;
    FG_ASSIGN_OR_RETURN(Stream stream, AskStream(engine, prompt.name, std::move(request)));
    streams.push_back(std::move(stream));
  }
  return streams;
}

struct Findings {
  std::optional<std::string> fault;
  std::string category;
  std::map<std::string, std::vector<Stream>> first;  // of each way
  std::set<std::string> labels;
  std::vector<std::string> whole_labels;  // of the way `whole` alone
  int64_t repeats = 0, tokens = 0;        // compared bit for bit
  Json arms = Json::object(), across = Json::object();

  void Note(const char* of, std::optional<std::string> what) {
    if (fault || !what) return;
    fault = std::move(what);
    category = of;
  }
  // `streams` must be those that the way gave first.
  void Hold(const Way& way, const std::vector<Stream>& streams, const std::string& name) {
    const auto [was, is_first] = first.emplace(way.name, streams);
    if (is_first) {
      arms[way.name] = {{"digest", StreamsDigest(streams)}, {"repeats", 0}};
      return;
    }
    Note("fork", FindFork(was->second, way.name, streams, name));
    arms[way.name]["repeats"] = arms[way.name]["repeats"].get<int64_t>() + 1;
    ++repeats;
    tokens += CountTokens(streams);
  }
};

// Every way so many times on one engine. The sessions go after each: a cache of keys and values may
// be gigabytes.
fg::Status Repeat(RunContext& context, CellEngine& engine, const std::vector<Way>& ways,
                  const std::vector<Prompt>& prompts, int64_t times, const std::string& where,
                  Findings* found) {
  for (const Way& way : ways) {
    for (int64_t repeat = 0; repeat < times; ++repeat) {
      FG_ASSIGN_OR_RETURN(const auto streams, AskWay(context, engine, way, prompts, repeat));
      found->Hold(way, streams, fmt::format("{}, {} {}", way.name, where, repeat + 1));
    }
    FG_ASSIGN_OR_RETURN(const Json ledger, engine.Ask({{"request", "ledger"}}));
    const std::vector<std::string> labels = LedgerLabels(ledger);
    found->labels.insert(labels.begin(), labels.end());
    if (way.name == "whole" && found->whole_labels.empty()) found->whole_labels = labels;
    FG_RETURN_IF_ERROR(engine.Ask({{"request", "reset"}}).status());
  }
  return fg::Status::Ok();
}

// Thread counts owe the same bits: each is a further repeat of every way.
fg::Status RepeatByThreads(RunContext& context, const std::vector<Way>& ways,
                           const std::vector<Prompt>& prompts, Findings* found) {
  const auto threads = context.spec().fields.find("threads");
  if (threads == context.spec().fields.end()) return fg::Status::Ok();
  for (const Json& count : *threads) {
    const std::string text = std::to_string(count.get<int64_t>());
    FG_ASSIGN_OR_RETURN(CellEngine engine, context.FreshEngine(Arm::kHead, {{"FG_THREADS", text}},
                                                               context.cell().model));
    FG_RETURN_IF_ERROR(
        Repeat(context, engine, ways, prompts, 1, "with FG_THREADS=" + text + ", run", found));
  }
  return fg::Status::Ok();
}

void CompareWays(const RunContext& context, const std::vector<Way>& ways, Findings* found) {
  const double share = context.matrix().FindTolerance(context.spec().agreement.at("arms"))->value;
  for (const Way& way : ways) {
    if (way.against.empty()) continue;
    const MarginComparison compared = CompareByMargin(
        found->first[way.name], way.name, found->first[way.against], way.against, share);
    found->Note("arms", compared.fault);
    Json figures = compared.figures;
    figures["against"] = way.against;
    found->across[way.name] = std::move(figures);
  }
}

fg::Result<int64_t> HoldToOracle(const RunContext& context, const std::string& sum,
                                 Findings* found) {
  if (!context.no_pins().empty()) return int64_t{0};
  FG_ASSIGN_OR_RETURN(const ModelPins pins, CellPins(context, sum));
  const PinsComparison oracle = CompareWithPins(found->first["whole"], found->whole_labels, pins);
  found->Note("oracle", oracle.WhyNot());
  return oracle.compared;
}

fg::Result<CellResult> Check(RunContext& context, const CellId& cell) {
  FG_ASSIGN_OR_RETURN(const auto prompts, CellPrompts(context));
  const std::vector<Way> ways = Ways(context);
  Findings found;
  std::string sum;
  {
    FG_ASSIGN_OR_RETURN(CellEngine engine, context.Engine(Arm::kHead, {}, cell.model));
    sum = engine.load().value("model", Json::object()).value("sha256", "");
    FG_RETURN_IF_ERROR(Repeat(context, engine, ways, prompts, context.spec().Integer("repeats"),
                              "repeat", &found));
  }
  {
    FG_ASSIGN_OR_RETURN(CellEngine engine, context.FreshEngine(Arm::kHead, {}, cell.model));
    FG_RETURN_IF_ERROR(
        Repeat(context, engine, ways, prompts, 1, "in a fresh process, run", &found));
  }
  FG_RETURN_IF_ERROR(RepeatByThreads(context, ways, prompts, &found));
  CompareWays(context, ways, &found);
  FG_ASSIGN_OR_RETURN(const int64_t oracle, HoldToOracle(context, sum, &found));
  CellResult result;
  if (found.fault) {
    result = CellResult::Fail(found.category, *found.fault);
  } else if (found.repeats == 0 || found.tokens == 0) {
    result = CellResult::Fail("protocol", "nothing was compared: no repeat, or no token");
  } else {
    result.outcome = Outcome::kPass;
  }
  result.agreement =
      fmt::format("bitwise (repeats), {} (arms)", context.spec().agreement.at("arms"));
  result.labels.assign(found.labels.begin(), found.labels.end());
  result.figures = {{"arms", found.arms},
                    {"across_arms", found.across},
                    {"repeats_compared", found.repeats},
                    {"tokens_compared", found.tokens},
                    {"oracle_tokens_compared", oracle}};
  if (!context.no_pins().empty()) result.figures["no_oracle"] = context.no_pins();
  Json streams = Json::object();
  for (const auto& [name, of_way] : found.first) streams[name] = StreamsJson(of_way);
  result.attachments = {{"streams.json", streams.dump(1)}};
  return result;
}

}  // namespace

CellResult RunDeterminism(RunContext& context, const CellId& cell) {
  auto result = Check(context, cell);
  return result.ok() ? *result : context.Stopped(result.status());
}

}  // namespace flipgate
