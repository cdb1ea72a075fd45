#include "gates/evidence_mixed_quant.h"

#include <fmt/format.h>

#include "gates/arm_run.h"
#include "gates/mode_gate.h"

namespace flipgate {
namespace {

using fg::Json;

struct Findings {
  std::optional<std::string> fault;
  std::string category;
  void Note(const char* of, const std::string& where, std::optional<std::string> what) {
    if (fault || !what) return;
    fault = where + ": " + *what;
    category = of;
  }
};

std::optional<std::string> FlagFault(const Json& load) {
  const bool told = load.value("nibble_family_only", false), derived = NibbleFamilyOnly(load);
  if (told == derived) return std::nullopt;
  const Json w16 = load.value("model", Json::object()).value("w16", Json::object());
  return fmt::format("load says nibble_family_only {}, its own table of weights {} says {}", told,
                     w16.dump(), derived);
}

std::optional<std::string> ModeFault(const ToldMode& told, const ToldMode& expected) {
  if (told == expected) return std::nullopt;
  return fmt::format("load says {}; the model's weights and widths make {}", told.Text(),
                     expected.Text());
}

fg::Result<CellResult> WalkModes(RunContext& context) {
  FG_ASSIGN_OR_RETURN(const GateSpec* gate, ModeGateOf(context));
  FG_ASSIGN_OR_RETURN(const auto prompts, CellPrompts(context));
  Findings found;
  ArmRun first;
  std::string first_name;
  Json load, modes = Json::object();
  int64_t tokens = 0, oracle_tokens = 0;
  for (const auto& [setting, text] : gate->set) {
    const Variables variables = InMode(context, *gate, text);
    const std::string name = gate->name + "=" + text;
    FG_ASSIGN_OR_RETURN(CellEngine engine,
                        context.Engine(Arm::kHead, variables, context.cell().model));
    load = engine.load();
    const ToldMode told = ReadMode(load, gate->name);
    const ToldMode expected = ExpectedMode(load, text);
    modes[text] = {{"mode", told.mode}, {"reasons", told.reasons}};
    found.Note("flag", name, FlagFault(load));
    found.Note("mode", name, ModeFault(told, expected));
    // In a wrong mode the engine may refuse to run, and that would hide why.
    if (found.fault) break;
    FG_ASSIGN_OR_RETURN(ArmRun run, RunPrompts(engine, prompts, CellOptions(context)));
    found.Note("label", name, FuseLabelFault(run.load, run.ledger, expected.mode));
    if (!first.streams.empty()) {
      found.Note("fork", "all modes must be equal",
                 FindFork(first.streams, first_name, run.streams, name));
    }
    FG_ASSIGN_OR_RETURN(const ModelPins pins, CellPins(context, run.sha256));
    const PinsComparison oracle = CompareWithPins(run.streams, run.labels, pins);
    found.Note("oracle", name, oracle.WhyNot());
    oracle_tokens += oracle.compared;
    tokens += CountTokens(run.streams);
    if (first.streams.empty()) {
      first = std::move(run);
      first_name = name;
    }
  }
  CellResult result;
  if (found.fault) {
    result = CellResult::Fail(found.category, *found.fault);
  } else {
    result.outcome = Outcome::kPass;
  }
  result.agreement = kBitwise;
  result.labels = first.labels;
  result.figures = {{"modes", modes},
                    {"nibble_family_only", NibbleFamilyOnly(load)},
                    {"tokens_compared", tokens},
                    {"oracle_tokens_compared", oracle_tokens}};
  result.attachments = {
      {"modes.json", Json{{"modes", modes}, {"streams", StreamsJson(first.streams)}}.dump(1)}};
  return result;
}

}  // namespace

CellResult RunMixedQuant(RunContext& context, const CellId&) {
  auto result = WalkModes(context);
  return result.ok() ? *result : context.Stopped(result.status());
}

}  // namespace flipgate
