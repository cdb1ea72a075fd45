#include "gates/evidence_decode_neutral.h"

#include <fmt/format.h>

#include <algorithm>

#include "gates/blind_spots.h"
#include "gates/label_rules.h"
#include "gates/model_pins.h"
#include "gates/run_context.h"
#include "gates/streams.h"

namespace flipgate {
namespace {

struct Setting {
  std::string name;
  Variables variables;
};

std::vector<Setting> Settings(const RunContext& context) {
  const GateSpec* row = context.gate();
  if (row != nullptr) {
    Variables off = context.OptIn(*row);
    off[row->name] = row->set.at("off");
    return {{row->name + " off", off}, {row->name + " opted in", context.OptIn(*row)}};
  }
  std::vector<Setting> settings = {{"nothing set", {}}, {"all off", context.Explicit({})}};
  for (const GateSpec& gate : context.matrix().gates()) {
    settings.push_back({gate.name + " opted in", context.OptIn(gate)});
  }
  return settings;
}

struct DecodeRun {
  std::vector<Stream> streams;
  LabelCounts counts;
  std::vector<std::string> labels;
  int64_t launches = 0;
  std::string sha256;
  std::optional<std::string> leak;
};

// A gate read in decode, or a forward that was no decode at all.
std::optional<std::string> Leak(const fg::Json& ledger, const LabelCounts& counts) {
  for (const fg::Json& read : ledger.value("gate_reads", fg::Json::array())) {
    if (read.value("phase", "") != "decode") continue;
    return fmt::format("{} was read {} times in phase decode", read.value("gate", "?"),
                       read.value("count", int64_t{0}));
  }
  if (counts.prefills != 0) {
    return fmt::format("{} forwards fed with one token counted as prefill", counts.prefills);
  }
  return std::nullopt;
}

fg::Result<DecodeRun> RunSetting(RunContext& context, const Setting& setting,
                                 const std::string& model, const std::vector<Prompt>& prompts) {
  FG_ASSIGN_OR_RETURN(CellEngine engine, context.Engine(Arm::kHead, setting.variables, model));
  StreamOptions options;
  options.tokens = context.spec().Integer("tokens");
  options.rows_per_forward = 1;
  DecodeRun run;
  FG_ASSIGN_OR_RETURN(run.streams, CollectStreams(engine, prompts, options));
  FG_ASSIGN_OR_RETURN(const fg::Json ledger, engine.Ask({{"request", "ledger"}}));
  run.counts = LabelCounts::FromLedger(ledger);
  run.labels = LedgerLabels(ledger);
  run.launches = ledger.value("launches", fg::Json::object()).value("decode", int64_t{0});
  run.sha256 = engine.load().value("model", fg::Json::object()).value("sha256", "");
  run.leak = Leak(ledger, run.counts);
  return run;
}

std::optional<std::string> Difference(const DecodeRun& a, const std::string& a_name,
                                      const DecodeRun& b, const std::string& b_name) {
  if (a.counts.decode != b.counts.decode) {
    for (const auto& [label, count] : b.counts.decode) {
      const auto there = a.counts.decode.find(label);
      const int64_t was = there == a.counts.decode.end() ? 0 : there->second;
      if (was != count) {
        return fmt::format("label '{}' was counted {} times in decode with {}, {} times with {}",
                           label, was, a_name, count, b_name);
      }
    }
    return fmt::format("with {} decode lacks a label that {} has", b_name, a_name);
  }
  if (a.launches != b.launches) {
    return fmt::format("decode launched {} operations with {}, {} with {}", a.launches, a_name,
                       b.launches, b_name);
  }
  return FindFork(a.streams, a_name, b.streams, b_name);
}

fg::Result<CellResult> CompareSettings(RunContext& context, const CellId& cell) {
  FG_ASSIGN_OR_RETURN(auto prompts, LoadPrompts(context.project(), context.spec().Text("prompts")));
  const size_t most = static_cast<size_t>(context.spec().Integer("prompt_count"));
  if (prompts.size() > most) {
    // One token a forward is slow: the shortest prompts tell as much.
    std::sort(prompts.begin(), prompts.end(),
              [](const Prompt& a, const Prompt& b) { return a.text.size() < b.text.size(); });
    prompts.resize(most);
  }
  const std::vector<Setting> settings = Settings(context);
  std::optional<std::string> leak, difference;
  DecodeRun first;
  for (const Setting& setting : settings) {
    FG_ASSIGN_OR_RETURN(DecodeRun run, RunSetting(context, setting, cell.model, prompts));
    if (run.leak && !leak) leak = "with " + setting.name + ": " + *run.leak;
    if (&setting == &settings.front()) {
      first = std::move(run);
    } else if (!difference) {
      difference = Difference(first, settings.front().name, run, setting.name);
    }
  }
  FG_ASSIGN_OR_RETURN(
      const ModelPins pins,
      LoadModelPins(context.project(), context.spec().Text("pins"), cell.model, first.sha256));
  const PinsComparison oracle = CompareWithPins(first.streams, first.labels, pins);
  CellResult result;
  if (leak) {
    result = CellResult::Fail("leak", *leak);
  } else if (difference) {
    result = CellResult::Fail("fork", *difference);
  } else if (oracle.fault || oracle.compared == 0 || first.counts.decodes == 0 ||
             first.launches == 0) {
    result = CellResult::Fail(
        "oracle", oracle.fault ? "against the oracle: " + *oracle.fault
                               : "nothing was counted: no decode, no launch or no oracle token");
  } else {
    result.outcome = Outcome::kPass;
  }
  result.agreement = kBitwise;
  result.labels = first.labels;
  result.figures = {{"settings", settings.size()},
                    {"decode_forwards", first.counts.decodes},
                    {"decode_launches", first.launches},
                    {"tokens_compared", CountTokens(first.streams)},
                    {"oracle_tokens_compared", oracle.compared}};
  result.attachments = {
      {"decode.json",
       fg::Json{{"labels", LabelsJson(first.counts)}, {"streams", StreamsJson(first.streams)}}.dump(
           1)}};
  return result;
}

}  // namespace

CellResult RunDecodeNeutral(RunContext& context, const CellId& cell) {
  auto result = CompareSettings(context, cell);
  return result.ok() ? *result : context.Stopped(result.status());
}

}  // namespace flipgate
