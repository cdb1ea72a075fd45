#include "gates/evidence_reuse_neutral.h"

#include <fmt/format.h>

#include <algorithm>

#include "gates/arm_run.h"
#include "gates/blind_spots.h"
#include "gates/replay.h"
#include "gates/settings.h"

namespace flipgate {
namespace {

using fg::Json;
using Tokens = std::vector<int64_t>;

enum class Mode {
  kTurns,  // a request a turn, graphs reused
  kAnew,   // the same, every graph built anew
  kWhole,  // one request cut into the same rows
};

struct Graphs {
  int64_t built = 0, reused = 0;
  std::vector<std::string> identities;
  bool operator==(const Graphs&) const = default;
  std::string Text() const {
    return fmt::format("{} graphs built, {} reused, topologies [{}]", built, reused,
                       fmt::join(identities, " "));
  }
};

// A run of all conversations. `streams` are of the pinned prompts; `later` of the turn that goes on
// behind the generated tokens.
struct Talk {
  std::vector<Stream> streams, later;
  std::vector<std::string> labels;
  std::string sha256;
  Graphs graphs;
};

Tokens Slice(const Tokens& tokens, size_t begin, size_t count) {
  const auto from = tokens.begin() + static_cast<std::ptrdiff_t>(begin);
  return {from, from + static_cast<std::ptrdiff_t>(std::min(count, tokens.size() - begin))};
}

// Feeds all of a prompt's turns but the last, which is returned for the caller to answer.
fg::Result<Tokens> FeedTurns(CellEngine& engine, const PromptPins& prompt, size_t rows,
                             bool reuse) {
  size_t at = 0;
  for (; prompt.ids.size() - at > rows; at += rows) {
    FG_RETURN_IF_ERROR(engine
                           .Ask({{"request", "generate"},
                                 {"session", prompt.name},
                                 {"tokens", Slice(prompt.ids, at, rows)},
                                 {"max_tokens", 0},
                                 {"reuse", reuse}})
                           .status());
  }
  return Slice(prompt.ids, at, rows);
}

fg::Status Converse(CellEngine& engine, const PromptPins& prompt, size_t rows, int64_t tokens,
                    Mode mode, Talk* talk) {
  const bool reuse = mode != Mode::kAnew;
  Tokens asked = prompt.ids;
  if (mode != Mode::kWhole) {
    FG_ASSIGN_OR_RETURN(asked, FeedTurns(engine, prompt, rows, reuse));
  }
  const auto ask = [&](const Tokens& words) {
    return AskStream(engine, prompt.name,
                     {{"session", prompt.name},
                      {"tokens", words},
                      {"max_tokens", tokens},
                      {"rows_per_forward", rows},
                      {"reuse", reuse}});
  };
  FG_ASSIGN_OR_RETURN(Stream stream, ask(asked));
  stream.prompt_tokens = prompt.ids;  // however it was fed
  talk->streams.push_back(std::move(stream));
  FG_ASSIGN_OR_RETURN(Stream later, ask(Slice(prompt.ids, 0, rows)));
  talk->later.push_back(std::move(later));
  return fg::Status::Ok();
}

Graphs ReadGraphs(const Json& ledger) {
  const Json told = ledger.value("graphs", Json::object());
  return {told.value("built", int64_t{0}), told.value("reused", int64_t{0}),
          told.value("identities", std::vector<std::string>{})};
}

// What the conversations are about: the oracle's prompts; where it pins none of this model, any
// tokens, for runs are held against each other alone.
fg::Result<ModelPins> Prompts(RunContext& context, const Json& load) {
  const Json model = load.value("model", Json::object());
  if (context.no_pins().empty()) return CellPins(context, model.value("sha256", ""));
  const int64_t rows = context.spec().Integer("turn_rows");
  ModelPins pins;
  for (const int64_t length : {rows * 2 + 1, rows * 3 - 5}) {
    PromptPins prompt;
    prompt.name = fmt::format("{} tokens", length);
    for (int64_t i = 0; i < length; ++i)
      prompt.ids.push_back((i * 7 + length) % model.value("vocabulary", int64_t{1}));
    pins.prompts.push_back(std::move(prompt));
  }
  return pins;
}

fg::Result<Talk> Run(RunContext& context, const Setting& setting, Mode mode) {
  FG_ASSIGN_OR_RETURN(CellEngine engine,
                      context.Engine(Arm::kHead, setting.variables, context.cell().model));
  Talk talk;
  talk.sha256 = engine.load().value("model", Json::object()).value("sha256", "");
  FG_ASSIGN_OR_RETURN(const ModelPins pins, Prompts(context, engine.load()));
  const auto rows = static_cast<size_t>(context.spec().Integer("turn_rows"));
  for (const PromptPins& prompt : pins.prompts) {
    if (prompt.ids.size() <= rows) continue;  // no second turn
    FG_RETURN_IF_ERROR(
        Converse(engine, prompt, rows, context.spec().Integer("tokens"), mode, &talk));
  }
  FG_ASSIGN_OR_RETURN(const Json ledger, engine.Ask({{"request", "ledger"}}));
  talk.labels = LedgerLabels(ledger);
  talk.graphs = ReadGraphs(ledger);
  return talk;
}

struct Findings {
  std::optional<std::string> fault;
  std::string category;
  int64_t oracle_tokens = 0, oracle_logits = 0, tokens = 0, anew = 0;

  void Note(const char* of, std::optional<std::string> what) {
    if (fault || !what) return;
    fault = std::move(what);
    category = of;
  }
};

std::optional<std::string> With(const Setting& setting, const std::optional<std::string>& what) {
  if (!what) return std::nullopt;
  return "with " + setting.name + ": " + *what;
}

void HoldToOracle(const Setting& setting, const Talk& talk, const ModelPins& pins,
                  Findings* found) {
  const PinsComparison oracle = CompareWithPins(talk.streams, talk.labels, pins);
  found->oracle_tokens += oracle.compared;
  found->Note("oracle", With(setting, oracle.WhyNot()));
  found->Note("oracle", With(setting, TopLogitsFault(talk.streams, talk.labels, pins,
                                                     &found->oracle_logits)));
}

// The same turns with every graph built anew, and as one request.
fg::Status HoldToAnew(RunContext& context, const Setting& setting, const Talk& turns,
                      Findings* found) {
  const std::string name = "turns";
  FG_ASSIGN_OR_RETURN(const Talk anew, Run(context, setting, Mode::kAnew));
  found->Note("fork", With(setting, FindFork(turns.streams, name, anew.streams,
                                             "turns with graphs built anew")));
  found->Note("fork", With(setting, FindFork(turns.later, name + " going on", anew.later,
                                             "going on with graphs built anew")));
  if (anew.graphs.reused != 0 || anew.graphs.built == 0) {
    found->Note("graph", With(setting, "asked for graphs built anew, but " + anew.graphs.Text()));
  }
  FG_ASSIGN_OR_RETURN(const Talk whole, Run(context, setting, Mode::kWhole));
  found->Note("fork", With(setting, FindFork(turns.streams, name, whole.streams, "one request")));
  found->Note("fork", With(setting, FindFork(turns.later, name + " going on", whole.later,
                                             "going on after one request")));
  found->anew += anew.graphs.built;
  return fg::Status::Ok();
}

fg::Result<CellResult> CompareSettings(RunContext& context) {
  const std::vector<Setting> settings = SettingsOfRow(context);
  Findings found;
  Talk first;
  for (size_t i = 0; i < settings.size(); ++i) {
    FG_ASSIGN_OR_RETURN(Talk talk, Run(context, settings[i], Mode::kTurns));
    if (context.no_pins().empty()) {
      FG_ASSIGN_OR_RETURN(const ModelPins pins, CellPins(context, talk.sha256));
      HoldToOracle(settings[i], talk, pins, &found);
    }
    found.tokens += CountTokens(talk.streams) + CountTokens(talk.later);
    if (i < 2) FG_RETURN_IF_ERROR(HoldToAnew(context, settings[i], talk, &found));
    if (i == 0) {
      first = std::move(talk);
    } else if (talk.graphs != first.graphs) {
      found.Note("graph", fmt::format("{}: {}; {}: {}", settings[0].name, first.graphs.Text(),
                                      settings[i].name, talk.graphs.Text()));
    }
  }
  const Graphs& graphs = first.graphs;
  if (graphs.built == 0 || graphs.reused == 0 || graphs.identities.empty()) {
    found.Note("graph", "nothing was counted: " + graphs.Text());
  }
  std::optional<ReplayComparison> replay;
  if (context.spec().fields.contains("eager")) {
    FG_ASSIGN_OR_RETURN(replay, HoldReplayToEager(context));
    found.Note("replay", replay->fault);
  }
  CellResult result;
  if (found.fault) {
    result = CellResult::Fail(found.category, *found.fault);
  } else {
    result.outcome = Outcome::kPass;
  }
  result.agreement = kBitwise;
  result.labels = first.labels;
  result.figures = {{"settings", settings.size()},
                    {"conversations", first.streams.size()},
                    {"graphs_built", graphs.built},
                    {"graphs_reused", graphs.reused},
                    {"topologies", graphs.identities.size()},
                    {"graphs_built_anew", found.anew},
                    {"tokens_compared", found.tokens},
                    {"oracle_tokens_compared", found.oracle_tokens},
                    {"oracle_logits_compared", found.oracle_logits}};
  if (!context.no_pins().empty()) result.figures["no_oracle"] = context.no_pins();
  if (replay) {
    result.figures["replay"] = replay->figures;
    result.labels.insert(result.labels.end(), replay->labels.begin(), replay->labels.end());
    std::sort(result.labels.begin(), result.labels.end());
    result.labels.erase(std::unique(result.labels.begin(), result.labels.end()),
                        result.labels.end());
  }
  result.attachments = {{"reuse.json", Json{{"identities", graphs.identities},
                                            {"streams", StreamsJson(first.streams)},
                                            {"later", StreamsJson(first.later)}}
                                           .dump(1)}};
  return result;
}

}  // namespace

CellResult RunReuseNeutral(RunContext& context, const CellId&) {
  auto result = CompareSettings(context);
  return result.ok() ? *result : context.Stopped(result.status());
}

}  // namespace flipgate
