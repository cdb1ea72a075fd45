#include "gates/replay.h"

#include <fmt/format.h>

#include "gates/blind_spots.h"
#include "gates/label_rules.h"
#include "gates/streams.h"

namespace flipgate {
namespace {

using fg::Json;
using Tokens = std::vector<int64_t>;

constexpr int64_t kLongPrompt = 16;   // the least that is a prefill
constexpr int64_t kShortPrompt = 20;  // back to the first bucket, with steps that are captured
constexpr int64_t kShortTokens = 12;

struct SteppedRun {
  std::vector<Stream> streams;
  std::vector<std::string> labels;
  LabelCounts counts;
  Json launches;
  int64_t captures = 0, replays = 0;
};

Tokens SomeTokens(int64_t count, int64_t vocabulary) {
  Tokens tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back((i * 11 + count) % vocabulary);
  return tokens;
}

fg::Result<SteppedRun> RunSteps(RunContext& context, const Variables& variables) {
  FG_ASSIGN_OR_RETURN(CellEngine engine,
                      context.Engine(Arm::kHead, variables, context.cell().model));
  const int64_t vocabulary =
      engine.load().value("model", Json::object()).value("vocabulary", int64_t{1});
  SteppedRun run;
  const auto ask = [&](const char* session, const Tokens& tokens, int64_t count) -> fg::Status {
    FG_ASSIGN_OR_RETURN(
        Stream stream,
        AskStream(engine, session,
                  {{"session", session}, {"tokens", tokens}, {"max_tokens", count}}));
    run.streams.push_back(std::move(stream));
    return fg::Status::Ok();
  };
  FG_RETURN_IF_ERROR(
      ask("long", SomeTokens(kLongPrompt, vocabulary), context.spec().Integer("eager_tokens")));
  FG_RETURN_IF_ERROR(ask("short", SomeTokens(kShortPrompt, vocabulary), kShortTokens));
  FG_RETURN_IF_ERROR(ask("short", SomeTokens(3, vocabulary), kShortTokens));
  FG_RETURN_IF_ERROR(ask("long", SomeTokens(kLongPrompt, vocabulary), kShortTokens));
  FG_ASSIGN_OR_RETURN(const Json ledger, engine.Ask({{"request", "ledger"}}));
  run.labels = LedgerLabels(ledger);
  run.counts = LabelCounts::FromLedger(ledger);
  run.launches = ledger.value("launches", Json::object());
  run.captures = ledger.value("captures", int64_t{0});
  run.replays = ledger.value("replays", int64_t{0});
  return run;
}

// Load and graph launch what they must, whichever way steps run.
std::optional<std::string> OtherLaunches(const SteppedRun& replayed, const SteppedRun& eager) {
  for (const char* phase : {"prefill", "decode"}) {
    const auto a = replayed.launches.value(phase, int64_t{0});
    const auto b = eager.launches.value(phase, int64_t{0});
    if (a == b && a > 0) continue;
    return fmt::format("{} launched {} operations where steps are replayed, {} where each runs",
                       phase, a, b);
  }
  return std::nullopt;
}

std::optional<std::string> OtherLabels(const SteppedRun& replayed, const SteppedRun& eager) {
  const auto differs = [](const std::map<std::string, int64_t>& a,
                          const std::map<std::string, int64_t>& b) -> std::optional<std::string> {
    for (const auto* side : {&a, &b}) {
      for (const auto& [label, count] : *side) {
        const auto in = [&](const std::map<std::string, int64_t>& counts) {
          const auto found = counts.find(label);
          return found == counts.end() ? int64_t{0} : found->second;
        };
        if (in(a) == in(b)) continue;
        return fmt::format(
            "label '{}' was counted {} times where steps are replayed, {} times "
            "where each runs",
            label, in(a), in(b));
      }
    }
    return std::nullopt;
  };
  auto difference = differs(replayed.counts.prefill, eager.counts.prefill);
  return difference ? difference : differs(replayed.counts.decode, eager.counts.decode);
}

std::optional<std::string> WrongCounts(const SteppedRun& replayed, const SteppedRun& eager) {
  if (replayed.captures > 0 && replayed.replays > 0 && eager.captures == 0 && eager.replays == 0)
    return std::nullopt;
  return fmt::format(
      "with nothing set {} captures and {} replays were counted, and {} and {} where each step "
      "should run by itself",
      replayed.captures, replayed.replays, eager.captures, eager.replays);
}

}  // namespace

fg::Result<ReplayComparison> HoldReplayToEager(RunContext& context) {
  if (!context.spec().fields.contains("eager_tokens")) {
    return fg::Status(fg::ErrorKind::kUsage,
                      "evidence.reuse_neutral: eager stands without eager_tokens");
  }
  const auto variables = context.spec().fields.at("eager").get<Variables>();
  FG_ASSIGN_OR_RETURN(const SteppedRun replayed, RunSteps(context, {}));
  FG_ASSIGN_OR_RETURN(const SteppedRun eager, RunSteps(context, variables));
  ReplayComparison result;
  result.labels = replayed.labels;
  result.fault = FindFork(replayed.streams, "the run that replays", eager.streams,
                          "the run in which each step runs");
  for (const auto check : {&WrongCounts, &OtherLabels, &OtherLaunches}) {
    if (!result.fault) result.fault = check(replayed, eager);
  }
  result.figures = {{"tokens_compared", CountTokens(replayed.streams)},
                    {"captures", replayed.captures},
                    {"replays", replayed.replays},
                    {"captures_eager", eager.captures},
                    {"replays_eager", eager.replays},
                    {"launches", replayed.launches}};
  return result;
}

}  // namespace flipgate
