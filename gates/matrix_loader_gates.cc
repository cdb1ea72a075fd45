// The block `gates` of the matrix.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/nearest.h"
#include "gates/matrix_loader.h"

namespace flipgate {
namespace {

using fg::DidYouMean;
using fg::Result;
using fg::Status;

// Metrics and what may be claimed of each.
const std::map<std::string, std::vector<std::string>>& Metrics() {
  static const std::map<std::string, std::vector<std::string>> kMetrics = {
      {"memory", {"lower", "flat", "higher"}},
      {"prefill", {"faster", "flat", "slower"}},
      {"decode", {"faster", "flat", "slower"}},
      {"load", {"faster", "flat", "slower"}},
  };
  return kMetrics;
}

std::vector<std::string> MetricNames() {
  std::vector<std::string> names;
  for (const auto& [name, words] : Metrics()) names.push_back(name);
  return names;
}

bool IsVariableName(const std::string& name) {
  const auto fits = [](unsigned char c) { return std::isupper(c) || std::isdigit(c) || c == '_'; };
  return !name.empty() && std::isupper(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), fits);
}

}  // namespace

Status MatrixLoader::LoadGates(const YamlNode& node) {
  FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, node, "gates"));
  for (const YamlNode::Entry& entry : node.entries) {
    FG_RETURN_IF_ERROR(CheckName(entry.key, entry.mark, "gate"));
    if (!IsVariableName(entry.key)) {
      return document_.Error(
          entry.mark, fmt::format("'{}' is no name of a gate: a variable in capitals", entry.key));
    }
    gate_names_.push_back(entry.key);
  }
  if (gate_names_.empty()) return document_.Error(node.mark, "gates holds none");
  for (const YamlNode::Entry& entry : node.entries) {
    FG_RETURN_IF_ERROR(LoadGate(entry.key, entry.value));
  }
  return Status::Ok();
}

Status MatrixLoader::LoadGate(const std::string& name, const YamlNode& node) {
  const std::string what = "gates." + name;
  FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, node, what));
  GateSpec gate;
  gate.name = name;
  std::vector<std::string> others = gate_names_;
  std::erase(others, name);
  FG_ASSIGN_OR_RETURN(const YamlNode* needs, map.Required("needs"));
  FG_ASSIGN_OR_RETURN(gate.needs, KnownNames(*needs, what + ".needs", others, "gate"));
  if (const YamlNode* shadows = map.Optional("shadowed_by")) {
    FG_ASSIGN_OR_RETURN(gate.shadowed_by,
                        KnownNames(*shadows, what + ".shadowed_by", others, "gate"));
  }
  FG_ASSIGN_OR_RETURN(const YamlNode* set, map.Required("set"));
  FG_RETURN_IF_ERROR(LoadSettings(&gate, *set));
  FG_ASSIGN_OR_RETURN(const YamlNode* bits, map.Required("bits"));
  if (bits->scalar != "same" && bits->scalar != "other") {
    return document_.Error(bits->mark, what + ".bits must be same or other");
  }
  gate.same_bits = bits->scalar == "same";
  FG_ASSIGN_OR_RETURN(gate.scope, Classes(map.Optional("scope"), what + ".scope"));
  FG_RETURN_IF_ERROR(LoadBudgets(&gate, &map));
  FG_ASSIGN_OR_RETURN(gate.live, LoadRules(what + ".live", map.Optional("live")));
  FG_ASSIGN_OR_RETURN(gate.dead, LoadRules(what + ".dead", map.Optional("dead")));
  FG_ASSIGN_OR_RETURN(gate.back, LoadRules(what + ".back", map.Optional("back")));
  if (const YamlNode* memory = map.Optional("memory"))
    FG_RETURN_IF_ERROR(LoadMemory(&gate, *memory));
  FG_RETURN_IF_ERROR(map.Finish());
  if (gate.live.empty()) {
    return document_.Error(node.mark, what + " has no 'live': no label would show that it works");
  }
  matrix_.gates_.push_back(std::move(gate));
  return Status::Ok();
}

Status MatrixLoader::LoadSettings(GateSpec* gate, const YamlNode& node) {
  const std::string what = "gates." + gate->name + ".set";
  FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, node, what));
  FG_RETURN_IF_ERROR(map.Required("on").status());
  FG_RETURN_IF_ERROR(map.Required("off").status());
  for (const YamlNode::Entry& entry : node.entries) {
    FG_RETURN_IF_ERROR(CheckName(entry.key, entry.mark, "setting"));
    const std::string value_of = what + "." + entry.key;
    FG_ASSIGN_OR_RETURN(YamlMap fields, YamlMap::Open(document_, entry.value, value_of));
    FG_ASSIGN_OR_RETURN(const YamlNode* env, fields.Required("env"));
    FG_RETURN_IF_ERROR(fields.Finish());
    FG_ASSIGN_OR_RETURN(const std::string text, document_.String(*env, value_of + ".env"));
    for (const auto& [other, value] : gate->set) {
      if (value != text) continue;
      return document_.Error(env->mark, fmt::format("{}: {} and {} are the same setting '{}'", what,
                                                    other, entry.key, text));
    }
    gate->set[entry.key] = text;
  }
  return Status::Ok();
}

Status MatrixLoader::LoadBudgets(GateSpec* gate, YamlMap* map) {
  const std::string what = "gates." + gate->name;
  const YamlNode* claims = map->Optional("claims");
  const YamlNode* may_cost = map->Optional("may_cost");
  FG_ASSIGN_OR_RETURN(gate->budget, LoadBudget(what, claims, may_cost));
  const YamlNode* classes = map->Optional("classes");
  if (classes == nullptr) return Status::Ok();
  FG_ASSIGN_OR_RETURN(YamlMap by_class, YamlMap::Open(document_, *classes, what + ".classes"));
  for (const YamlNode::Entry& entry : classes->entries) {
    FG_RETURN_IF_ERROR(CheckName(entry.key, entry.mark, "hardware class"));
    FG_RETURN_IF_ERROR(CheckClass(entry.key, entry.mark, what + ".classes"));
    const std::string where = what + ".classes." + entry.key;
    FG_ASSIGN_OR_RETURN(YamlMap fields, YamlMap::Open(document_, entry.value, where));
    const YamlNode* own_claims = fields.Optional("claims");
    const YamlNode* own_cost = fields.Optional("may_cost");
    FG_RETURN_IF_ERROR(fields.Finish());
    FG_ASSIGN_OR_RETURN(gate->budget_of[entry.key], LoadBudget(where, own_claims, own_cost));
  }
  return Status::Ok();
}

Result<GateBudget> MatrixLoader::LoadBudget(const std::string& what, const YamlNode* claims,
                                            const YamlNode* may_cost) const {
  GateBudget budget;
  const auto known = [&](const YamlNode::Entry& entry, const std::string& where) {
    if (Metrics().contains(entry.key)) return Status::Ok();
    return document_.Error(entry.mark, fmt::format("unknown metric '{}' in {}{}", entry.key, where,
                                                   DidYouMean(entry.key, MetricNames())));
  };
  if (claims != nullptr) {
    FG_RETURN_IF_ERROR(YamlMap::Open(document_, *claims, what + ".claims").status());
    for (const YamlNode::Entry& entry : claims->entries) {
      FG_RETURN_IF_ERROR(known(entry, what + ".claims"));
      const std::vector<std::string>& words = Metrics().at(entry.key);
      if (std::find(words.begin(), words.end(), entry.value.scalar) == words.end()) {
        return document_.Error(entry.value.mark, fmt::format("{}.claims.{} must be one of {}", what,
                                                             entry.key, fmt::join(words, ", ")));
      }
      budget.claims[entry.key] = entry.value.scalar;
    }
  }
  if (may_cost != nullptr) {
    FG_RETURN_IF_ERROR(YamlMap::Open(document_, *may_cost, what + ".may_cost").status());
    for (const YamlNode::Entry& entry : may_cost->entries) {
      FG_RETURN_IF_ERROR(known(entry, what + ".may_cost"));
      FG_ASSIGN_OR_RETURN(budget.may_cost[entry.key],
                          LoadCost(what + ".may_cost." + entry.key, entry.value));
    }
  }
  return budget;
}

// "+1600 MiB", or {amount: "-60 %", reason: ...}: a loss of speed says why it is worth it.
Result<GateBudget::Cost> MatrixLoader::LoadCost(const std::string& what,
                                                const YamlNode& node) const {
  GateBudget::Cost cost;
  const YamlNode* amount = &node;
  if (node.kind == YamlNode::Kind::kMap) {
    FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, node, what));
    FG_ASSIGN_OR_RETURN(amount, map.Required("amount"));
    FG_ASSIGN_OR_RETURN(const YamlNode* reason, map.Required("reason"));
    FG_RETURN_IF_ERROR(map.Finish());
    FG_ASSIGN_OR_RETURN(cost.reason, document_.String(*reason, what + ".reason"));
  }
  FG_ASSIGN_OR_RETURN(const std::string text, document_.String(*amount, what));
  const Status wrong = document_.Error(
      amount->mark,
      fmt::format("{} must be an amount such as \"+1600 MiB\" or \"-60 %\", is '{}'", what, text));
  const size_t blank = text.find(' ');
  if (blank == std::string::npos || (text[0] != '+' && text[0] != '-')) return wrong;
  cost.unit = text.substr(blank + 1);
  YamlNode digits = *amount;
  digits.scalar = text.substr(1, blank - 1);
  const Result<double> value = document_.Number(digits, what);
  if (!value.ok() || *value < 0 || (cost.unit != "MiB" && cost.unit != "%")) return wrong;
  cost.amount = text[0] == '-' ? -*value : *value;
  if (cost.amount < 0 && cost.reason.empty()) {
    return document_.Error(amount->mark, what + " is a loss; write {amount: ..., reason: ...}");
  }
  return cost;
}

Status MatrixLoader::LoadMemory(GateSpec* gate, const YamlNode& node) const {
  const std::string what = "gates." + gate->name + ".memory";
  FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, node, what));
  FG_ASSIGN_OR_RETURN(const YamlNode* on, map.Required("on"));
  FG_ASSIGN_OR_RETURN(const YamlNode* off, map.Required("off"));
  FG_RETURN_IF_ERROR(map.Finish());
  FG_ASSIGN_OR_RETURN(std::vector<LabelRule> on_rules, LoadRules(what + ".on", on));
  FG_ASSIGN_OR_RETURN(std::vector<LabelRule> off_rules, LoadRules(what + ".off", off));
  for (LabelRule& rule : on_rules)
    gate->memory_on.push_back({rule.pattern, std::move(rule.formula)});
  for (LabelRule& rule : off_rules)
    gate->memory_off.push_back({rule.pattern, std::move(rule.formula)});
  return Status::Ok();
}

Result<std::vector<LabelRule>> MatrixLoader::LoadRules(const std::string& what,
                                                       const YamlNode* node) const {
  std::vector<LabelRule> rules;
  if (node == nullptr) return rules;
  FG_RETURN_IF_ERROR(YamlMap::Open(document_, *node, what).status());
  for (const YamlNode::Entry& entry : node->entries) {
    FG_ASSIGN_OR_RETURN(std::string text, document_.String(entry.value, what + "." + entry.key));
    if (document_.Integer(entry.value, what).ok()) text = "= " + text;  // 0 is short for "= 0"
    auto formula = LiveFormula::Parse(text);
    if (!formula.ok()) {
      return document_.Error(entry.value.mark, fmt::format("{} of '{}': {}", what, entry.key,
                                                           formula.status().message()));
    }
    rules.push_back({entry.key, std::move(formula).value()});
  }
  return rules;
}

}  // namespace flipgate
