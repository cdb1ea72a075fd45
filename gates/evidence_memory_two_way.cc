#include "gates/evidence_memory_two_way.h"

#include <fmt/format.h>

#include <cmath>

#include "gates/label_rules.h"
#include "gates/run_context.h"

namespace flipgate {
namespace {

using fg::Json;

constexpr double kMiB = 1024.0 * 1024.0;

// One direction: what was booked and what the system saw, in bytes.
struct Side {
  std::string name;
  std::map<std::string, int64_t> now, peak;  // per category
  int64_t booked_anonymous = 0, system_anonymous = 0, peak_total = 0, peak_resident = 0;
  // Of a device with memory of its own: all that is booked, and what its driver says came on top
  // since before the load.
  bool device = false;
  int64_t booked = 0, device_used = 0;
  FormulaValues values;
  int64_t tokens = 0;
};

int64_t SystemAnonymous(const Json& memory) {
  return memory.value("system", Json::object()).value("anonymous", int64_t{0});
}

Side ReadSide(const std::string& name, const Json& before, const Json& after) {
  Side side;
  side.name = name;
  const Json categories = after.value("categories", Json::object());
  for (const auto& [category, entry] : categories.items()) {
    side.now[category] = entry.value("now", int64_t{0});
    side.peak[category] = entry.value("peak", int64_t{0});
    side.peak_total += side.peak[category];
    side.booked += side.now[category];
    if (!entry.value("file_backed", false)) side.booked_anonymous += side.now[category];
  }
  if (after.contains("device")) {
    side.device = true;
    side.device_used = after["device"].value("used", int64_t{0}) -
                       after["device"].value("used_before", int64_t{0});
  }
  side.system_anonymous = SystemAnonymous(after) - SystemAnonymous(before);
  side.peak_resident = after.value("system", Json::object()).value("peak_resident", int64_t{0});
  return side;
}

fg::Result<Side> Measure(RunContext& context, const std::string& name, const Variables& variables,
                         const std::string& model) {
  FG_ASSIGN_OR_RETURN(CellEngine engine, context.FreshEngine(Arm::kHead, variables, model));
  const int64_t vocabulary =
      engine.load().value("model", Json::object()).value("vocabulary", int64_t{0});
  if (vocabulary <= 0) return fg::Status(fg::ErrorKind::kIo, "load told no vocabulary");
  std::vector<int64_t> prompt(static_cast<size_t>(context.spec().Integer("prompt_tokens")));
  for (size_t i = 0; i < prompt.size(); ++i)
    prompt[i] = static_cast<int64_t>(i * 7 + 1) % vocabulary;
  FG_ASSIGN_OR_RETURN(const Json generated,
                      engine.Ask({{"request", "generate"},
                                  {"session", "memory"},
                                  {"tokens", prompt},
                                  {"max_tokens", context.spec().Integer("tokens")},
                                  {"stop_at_eos", false}}));
  FG_ASSIGN_OR_RETURN(const Json after, engine.Ask({{"request", "memory"}}));
  Side side = ReadSide(name, engine.memory_before(), after);
  side.values = ValuesFor(LabelCounts{}, engine.load());
  side.tokens = static_cast<int64_t>(generated.value("tokens", Json::array()).size());
  return side;
}

// The ledger against the system: what is touched must be booked, and what is booked must be there.
// On a device the book is of the device's bytes, and the process's own are the driver's matter.
std::optional<std::string> Unbooked(const Side& side, double share, double slack_bytes) {
  const auto used = static_cast<double>(side.device ? side.device_used : side.system_anonymous);
  const auto booked = static_cast<double>(side.device ? side.booked : side.booked_anonymous);
  const double allowed = share * booked + slack_bytes;
  if (booked > 0 && std::abs(used - booked) <= allowed) return std::nullopt;
  const std::string reported =
      side.device
          ? fmt::format("the device's driver reports {:.2f} MiB more in use than before load",
                        used / kMiB)
          : fmt::format("the system reports {:.2f} MiB of anonymous memory since before load",
                        used / kMiB);
  return fmt::format("{}: {}, the ledger books {:.2f} MiB; they may differ by {:.2f} MiB",
                     side.name, reported, booked / kMiB, allowed / kMiB);
}

// The relations that were held, for the page.
struct Relations {
  int64_t checked = 0;  // of them right
  Json rows = Json::array();

  void Row(const Side& side, const std::string& category, const std::string& relation,
           int64_t wanted, const std::map<std::string, int64_t>::const_iterator& held) {
    rows.push_back({{"side", side.name},
                    {"category", category},
                    {"relation", relation},
                    {"wanted", wanted},
                    {"held", held == side.now.end() ? 0 : held->second}});
  }
};

fg::Result<std::optional<std::string>> BrokenRelation(const Side& side,
                                                      const std::vector<MemoryRule>& rules,
                                                      Relations* relations) {
  for (const MemoryRule& rule : rules) {
    FG_ASSIGN_OR_RETURN(const int64_t wanted, rule.formula.Value(side.values));
    const auto found = side.now.find(rule.category);
    relations->Row(side, rule.category, rule.formula.text(), wanted, found);
    if (found == side.now.end()) {
      return std::optional<std::string>(side.name + ": the ledger has no category '" +
                                        rule.category + "'");
    }
    if (!rule.formula.Holds(found->second, wanted)) {
      return std::optional<std::string>(
          fmt::format("{}: {} holds {} bytes, the matrix wants {} (that is {})", side.name,
                      rule.category, found->second, rule.formula.text(), wanted));
    }
    ++relations->checked;
  }
  return std::optional<std::string>();
}

// What declares no relation builds nothing: every category is the same both ways.
std::optional<std::string> Differs(const Side& on, const Side& off, const std::string& with,
                                   const std::string& without, const std::string& why,
                                   Relations* relations) {
  for (const auto& [category, bytes] : on.now) {
    const auto other = off.now.find(category);
    relations->Row(off, category, "as with " + with, bytes, other);
    if (other == off.now.end() || other->second != bytes) {
      return fmt::format("{} holds {} bytes with {} and {} with {}, but {}", category, bytes, with,
                         other == off.now.end() ? 0 : other->second, without, why);
    }
    ++relations->checked;
  }
  return std::nullopt;
}

// Bytes that the gate may cost at peak.
double AllowedBytes(const GateBudget& budget, const Side& off) {
  const auto cost = budget.may_cost.find("memory");
  if (cost == budget.may_cost.end()) return 0;
  return cost->second.unit == "%" ? cost->second.amount / 100 * static_cast<double>(off.peak_total)
                                  : cost->second.amount * kMiB;
}

std::optional<std::string> OverBudget(const GateBudget& budget, const Side& on, const Side& off) {
  const double delta = static_cast<double>(on.peak_total - off.peak_total);
  const auto claim = budget.claims.find("memory");
  if (claim != budget.claims.end() && claim->second == "lower" && !(delta < 0)) {
    return fmt::format("the gate claims lower memory, but its peak is {:.2f} MiB higher",
                       delta / kMiB);
  }
  const double allowed = AllowedBytes(budget, off);
  if (delta <= allowed) return std::nullopt;
  return fmt::format("the gate costs {:.2f} MiB at peak, its budget is {:.2f} MiB", delta / kMiB,
                     allowed / kMiB);
}

Json BudgetJson(const GateBudget& budget, const Side& on, const Side& off) {
  Json json = {{"peak_difference_bytes", on.peak_total - off.peak_total},
               {"allowed_bytes", static_cast<int64_t>(AllowedBytes(budget, off))}};
  const auto claim = budget.claims.find("memory");
  if (claim != budget.claims.end()) json["claim"] = claim->second;
  const auto cost = budget.may_cost.find("memory");
  if (cost != budget.may_cost.end()) {
    json["may_cost"] = fmt::format("{:+g} {}", cost->second.amount, cost->second.unit);
  }
  return json;
}

Json SideJson(const Side& side) {
  Json json = {{"now", side.now},
               {"peak", side.peak},
               {"booked_anonymous", side.booked_anonymous},
               {"system_anonymous", side.system_anonymous},
               {"peak_total", side.peak_total},
               {"peak_resident", side.peak_resident}};
  if (side.device) {
    json["device"] = {{"booked", side.booked},
                      {"used_since_before_load", side.device_used},
                      {"difference", side.device_used - side.booked}};
  }
  return json;
}

// What one category must hold by default: what the gates without needs declare for off, and for
// each promoted gate the difference that it declares. A promoted gate's needs are promoted, so the
// differences add up.
fg::Result<std::map<std::string, int64_t>> DefaultBytes(const RunContext& context,
                                                        const FormulaValues& values,
                                                        bool promoted) {
  std::map<std::string, int64_t> bytes;
  for (const GateSpec& gate : context.matrix().gates()) {
    if (!context.matrix().GateInScope(gate.name, context.hardware_class())) continue;
    const bool base = gate.needs.empty(), on = promoted && context.IsPromoted(gate.name);
    for (const auto* rules : {&gate.memory_off, &gate.memory_on}) {
      const bool is_on = rules == &gate.memory_on;
      if (is_on && !on) continue;
      for (const MemoryRule& rule : *rules) {
        FG_ASSIGN_OR_RETURN(const int64_t value, rule.formula.Value(values));
        const int64_t sign = is_on ? 1 : (base ? 1 : 0) - (on ? 1 : 0);
        bytes[rule.category] += sign * value;
      }
    }
  }
  return bytes;
}

fg::Result<std::optional<std::string>> DefaultFault(const RunContext& context, const Side& side,
                                                    bool promoted, Relations* relations) {
  FG_ASSIGN_OR_RETURN(const auto wanted, DefaultBytes(context, side.values, promoted));
  for (const auto& [category, bytes] : wanted) {
    const auto found = side.now.find(category);
    relations->Row(side, category, "the relations of the gates together", bytes, found);
    if (found == side.now.end() || found->second != bytes) {
      return std::optional<std::string>(
          fmt::format("{}: {} holds {} bytes, the relations of the gates add up to {}", side.name,
                      category, found == side.now.end() ? 0 : found->second, bytes));
    }
    ++relations->checked;
  }
  return std::optional<std::string>();
}

// The relations that hold for this row: the gate's own; for `default` those of the promoted gates
// together.
fg::Result<std::optional<std::string>> RelationFault(const RunContext& context, const Side& with,
                                                     const Side& without, Relations* relations) {
  const GateSpec* gate = context.gate();
  if (gate == nullptr && context.matrix().Rows(context.hardware_class()).size() == 1) {
    return Differs(with, without, "nothing set", "all gates off", "no gate is built on this class",
                   relations);
  }
  if (gate == nullptr) {
    FG_ASSIGN_OR_RETURN(auto fault, DefaultFault(context, with, true, relations));
    if (fault) return fault;
    return DefaultFault(context, without, false, relations);
  }
  if (gate->memory_on.empty()) {
    return Differs(with, without, "the gate on", "it off", "the gate declares no memory",
                   relations);
  }
  FG_ASSIGN_OR_RETURN(auto fault, BrokenRelation(with, gate->memory_on, relations));
  if (fault) return fault;
  return BrokenRelation(without, gate->memory_off, relations);
}

fg::Result<CellResult> Compare(RunContext& context, const CellId& cell) {
  const GateSpec* gate = context.gate();
  Variables on, off;
  if (gate != nullptr) {
    // Every other gate at off: another gate's planes are none of this one's bytes.
    std::vector<std::string> with = gate->needs;
    off = context.Explicit(with);
    with.push_back(gate->name);
    on = context.Explicit(with);
  } else {
    off = context.Explicit({});
  }
  const Tolerance& share = *context.matrix().FindTolerance(context.spec().agreement.at("share"));
  const Tolerance& slack =
      *context.matrix().FindTolerance(context.spec().agreement.at("slack_mib"));
  FG_ASSIGN_OR_RETURN(const Side with, Measure(context, "on", on, cell.model));
  FG_ASSIGN_OR_RETURN(const Side without, Measure(context, "off", off, cell.model));

  Relations relations;
  FG_ASSIGN_OR_RETURN(std::optional<std::string> fault,
                      RelationFault(context, with, without, &relations));
  std::string category = "relation";
  for (const Side* side : {&with, &without}) {
    if (fault) break;
    fault = Unbooked(*side, share.value, slack.value * kMiB);
    category = "unbooked";
  }
  if (!fault && gate != nullptr) {
    fault = OverBudget(gate->Budget(context.hardware_class()), with, without);
    category = "budget";
  }
  CellResult result;
  if (fault) {
    result = CellResult::Fail(category, *fault);
  } else if (with.tokens == 0 || without.tokens == 0 || relations.checked == 0) {
    result = CellResult::Fail("protocol", "an arm generated no token, or no relation was checked");
  } else {
    result.outcome = Outcome::kPass;
  }
  result.agreement = share.name;
  result.figures = {{"on", SideJson(with)},
                    {"off", SideJson(without)},
                    {"relations_checked", relations.checked},
                    {"relations", relations.rows}};
  if (gate != nullptr) {
    result.figures["budget"] = BudgetJson(gate->Budget(context.hardware_class()), with, without);
  }
  return result;
}

}  // namespace

CellResult RunMemoryTwoWay(RunContext& context, const CellId& cell) {
  auto result = Compare(context, cell);
  return result.ok() ? *result : context.Stopped(result.status());
}

}  // namespace flipgate
