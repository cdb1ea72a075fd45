#include "gates/evidence_decode_neutral.h"

#include <fmt/format.h>

#include "gates/arm_run.h"
#include "gates/settings.h"

namespace flipgate {
namespace {

struct DecodeRun {
  ArmRun arm;
  int64_t launches = 0;
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
  StreamOptions options = CellOptions(context);
  options.rows_per_forward = 1;
  DecodeRun run;
  FG_ASSIGN_OR_RETURN(run.arm,
                      RunArm(context, Arm::kHead, setting.variables, model, prompts, options));
  run.launches = run.arm.ledger.value("launches", fg::Json::object()).value("decode", int64_t{0});
  run.leak = Leak(run.arm.ledger, run.arm.counts);
  return run;
}

std::optional<std::string> Difference(const DecodeRun& a, const std::string& a_name,
                                      const DecodeRun& b, const std::string& b_name) {
  if (a.arm.counts.decode != b.arm.counts.decode) {
    for (const auto& [label, count] : b.arm.counts.decode) {
      const auto there = a.arm.counts.decode.find(label);
      const int64_t was = there == a.arm.counts.decode.end() ? 0 : there->second;
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
  return FindFork(a.arm.streams, a_name, b.arm.streams, b_name);
}

fg::Result<CellResult> CompareSettings(RunContext& context, const CellId& cell) {
  FG_ASSIGN_OR_RETURN(const auto prompts, CellPrompts(context));
  const std::vector<Setting> settings = SettingsOfRow(context);
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
  PinsComparison oracle;
  const bool pinned = context.no_pins().empty();
  if (pinned) {
    FG_ASSIGN_OR_RETURN(const ModelPins pins, CellPins(context, first.arm.sha256));
    oracle = CompareWithPins(first.arm.streams, first.arm.labels, pins);
  }
  CellResult result;
  if (leak) {
    result = CellResult::Fail("leak", *leak);
  } else if (difference) {
    result = CellResult::Fail("fork", *difference);
  } else if (oracle.fault || (pinned && oracle.compared == 0) || first.arm.counts.decodes == 0 ||
             first.launches == 0) {
    result = CellResult::Fail(
        "oracle", oracle.fault ? "against the oracle: " + *oracle.fault
                               : "nothing was counted: no decode, no launch or no oracle token");
  } else {
    result.outcome = Outcome::kPass;
  }
  result.agreement = kBitwise;
  result.labels = first.arm.labels;
  result.figures = {{"settings", settings.size()},
                    {"decode_forwards", first.arm.counts.decodes},
                    {"decode_launches", first.launches},
                    {"tokens_compared", CountTokens(first.arm.streams)},
                    {"oracle_tokens_compared", oracle.compared}};
  if (!pinned) result.figures["no_oracle"] = context.no_pins();
  result.attachments = {{"decode.json", fg::Json{{"labels", LabelsJson(first.arm.counts)},
                                                 {"streams", StreamsJson(first.arm.streams)}}
                                            .dump(1)}};
  return result;
}

}  // namespace

CellResult RunDecodeNeutral(RunContext& context, const CellId& cell) {
  auto result = CompareSettings(context, cell);
  return result.ok() ? *result : context.Stopped(result.status());
}

}  // namespace flipgate
