#include "promotion/selfcheck_report.h"

#include <fmt/format.h>

namespace flipgate {
namespace {

using fg::Json;

Json TrialJson(const Trial& trial) {
  return {{"kind", trial.kind},         {"state", TrialStateName(trial.state)},
          {"claimed", trial.claimed},   {"cell", trial.cell},
          {"category", trial.category}, {"reason", trial.reason},
          {"ran", trial.ran},           {"seconds", trial.seconds},
          {"bundle", trial.bundle}};
}

Json FaultJson(const SelfCheckReport& report, const PlantedFault& fault) {
  const auto state = report.StateOf(fault.name);
  Json trials = Json::array();
  for (const Trial& trial : report.trials) {
    if (trial.fault == fault.name) trials.push_back(TrialJson(trial));
  }
  const std::string word = fault.kinds.empty() ? "unlisted"
                           : state             ? TrialStateName(*state)
                                               : "pending";
  return {{"name", fault.name},
          {"description", fault.description},
          {"kinds", fault.kinds},
          {"state", word},
          {"trials", trials}};
}

Json RedJson(const std::vector<SelfCheckReport::Red>& cells) {
  Json json = Json::array();
  for (const auto& cell : cells)
    json.push_back({{"cell", cell.cell}, {"outcome", cell.outcome}, {"reason", cell.reason}});
  return json;
}

Json HeaderJson(const BundleHeader& header) {
  return {{"engine", header.hashes.engine},
          {"defaults", header.hashes.defaults},
          {"suite", header.hashes.suite},
          {"matrix", header.hashes.matrix},
          {"recipe", header.hashes.recipe}};
}

}  // namespace

SelfCheckVerdict Verdict(const SelfCheckReport& report) {
  if (!report.red.empty()) {
    SelfCheckVerdict verdict{.word = "error", .exit = 4, .reasons = {}};
    for (const auto& cell : report.red) {
      verdict.reasons.push_back(fmt::format("the control run is red without any fault: {}: {}: {}",
                                            cell.cell, cell.outcome, cell.reason));
    }
    return verdict;
  }
  SelfCheckVerdict verdict{.word = "passed", .exit = 0, .reasons = {}};
  std::vector<int> codes = {0};
  const auto add = [&](int code, std::string reason) {
    codes.push_back(code);
    verdict.reasons.push_back(std::move(reason));
  };
  for (const Trial& trial : report.trials) {
    if (!trial.claimed || trial.state == TrialState::kKilled) continue;
    if (trial.state == TrialState::kNotJudged) {
      add(3, fmt::format("{} was not judged by {}: {}", trial.fault, trial.kind, trial.reason));
    } else if (trial.state == TrialState::kError) {
      add(4, fmt::format("{} against {} ended in an error: {}", trial.fault, trial.kind,
                         trial.reason));
    } else if (trial.state == TrialState::kByAnother) {
      add(1, fmt::format("{} was killed by another kind only, not by {}, which claims it",
                         trial.fault, trial.kind));
    } else {
      add(1, fmt::format("{} survived {}: {}", trial.fault, trial.kind, trial.reason));
    }
  }
  for (const std::string& fault : report.unlisted)
    add(1, "fault '" + fault + "' lists no kind that must catch it");
  for (const std::string& kind : report.unclaimed)
    add(1, "no fault lists the kind '" + kind + "': nothing shows that it can fail");
  if (!report.complete && verdict.reasons.empty()) add(4, "it was cut off");
  verdict.exit = CombinedExitCode(codes);
  static constexpr const char* kWords[] = {"passed", "failed", "", "unproven", "error"};
  verdict.word = kWords[verdict.exit];
  return verdict;
}

Json SelfCheckJson(const SelfCheckReport& report) {
  const SelfCheckVerdict verdict = Verdict(report);
  Json faults = Json::array();
  for (const PlantedFault& fault : report.faults) faults.push_back(FaultJson(report, fault));
  return {{"schema", kSelfCheckSchema},
          {"complete", report.complete},
          {"verdict", verdict.word},
          {"reasons", verdict.reasons},
          {"exit", verdict.exit},
          {"hardware_class", report.header.hardware_class},
          {"build", report.header.build},
          {"hashes", HeaderJson(report.header)},
          {"started", report.header.started},
          {"seconds", report.seconds},
          {"jobs", report.jobs},
          {"selection", {{"faults", report.selected_faults}, {"kinds", report.selected_kinds}}},
          {"control",
           {{"cells", report.control_cells},
            {"seconds", report.control_seconds},
            {"red", RedJson(report.red)},
            {"unused", RedJson(report.unused)},
            {"bundle", "control"}}},
          {"faults", faults},
          {"unlisted", report.unlisted},
          {"unclaimed", report.unclaimed}};
}

}  // namespace flipgate
