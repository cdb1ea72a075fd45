#include "gates/mode_gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "gates/label_rules.h"

namespace flipgate {

using fg::Json;

fg::Result<const GateSpec*> ModeGateOf(const RunContext& context) {
  std::vector<std::string> modes;
  for (const HelloGate& gate : context.head_gates()) {
    if (gate.kind == "mode") modes.push_back(gate.name);
  }
  const bool row = context.gate() != nullptr;
  if (row && std::find(modes.begin(), modes.end(), context.gate()->name) != modes.end()) {
    return context.gate();
  }
  if (!row && modes.size() == 1) return context.matrix().FindGate(modes[0]);
  return fg::Status(
      fg::ErrorKind::kUsage,
      row ? context.gate()->name + " is no mode gate by head's hello; this kind is about modes"
          : fmt::format("head has {} mode gates, the row `default` of this kind needs one",
                        modes.size()));
}

Variables InMode(const RunContext& context, const GateSpec& gate, const std::string& text) {
  Variables variables = context.OptIn(gate);
  if (context.gate() == nullptr) {
    for (const GateSpec& other : context.matrix().gates()) {
      variables[other.name] = other.set.at("on");
    }
  }
  variables[gate.name] = text;
  return variables;
}

std::string ToldMode::Text() const {
  return fmt::format("asked {}, mode {}, reasons [{}]", asked, mode, fmt::join(reasons, ", "));
}

ToldMode ReadMode(const Json& load, const std::string& gate) {
  const Json told = load.value("fuse_mode", Json::object());
  ToldMode mode{told.value("asked", ""), told.value("mode", ""), {}};
  for (const Json& entry : load.value("degradations", Json::array())) {
    if (entry.value("from", "").starts_with(gate + "="))
      mode.reasons.insert(entry.value("reason", ""));
  }
  return mode;
}

bool NibbleFamilyOnly(const Json& load) {
  const Json w16 = load.value("model", Json::object()).value("w16", Json::object());
  for (const auto& [type, count] : w16.items()) {
    if (type != "q4_K" && type != "q6_K" && count.get<int64_t>() > 0) return false;
  }
  return true;
}

namespace {

constexpr int64_t kWidth = 256;  // what a norm or ffn must be a multiple of

bool WidthsFit(const Json& load) {
  const Json model = load.value("model", Json::object());
  return model.value("width", int64_t{1}) % kWidth == 0 &&
         model.value("ffn", int64_t{1}) % kWidth == 0;
}

}  // namespace

bool SkipWriteFits(const Json& load) { return NibbleFamilyOnly(load) && WidthsFit(load); }

ToldMode ExpectedMode(const Json& load, const std::string& asked,
                      const std::set<std::string>& extra) {
  ToldMode expected{asked, asked, {}};
  if (asked == "0") return expected;
  if (asked == "2") expected.reasons = extra;
  if (asked == "2" && !NibbleFamilyOnly(load)) expected.reasons.insert("weight_mix");
  if (!expected.reasons.empty()) expected.mode = "1";
  if (!WidthsFit(load)) {
    expected.reasons.insert("width");
    expected.mode = "0";
  }
  return expected;
}

std::optional<std::string> FuseLabelFault(const Json& load, const Json& ledger,
                                          const std::string& mode) {
  const LabelCounts counts = LabelCounts::FromLedger(ledger);
  const int64_t layers = load.value("model", Json::object()).value("layers", int64_t{0});
  if (counts.prefills == 0 || layers == 0) return "no forward had 16 rows or more";
  // The last layer's FFN belongs to the tail, which no fused producer feeds.
  for (const auto& [op, each] : {std::pair{"rms_norm", 2 * layers - 1}, {"swiglu", layers - 1}}) {
    for (const char* fused : {"1", "2"}) {
      const std::string label = fmt::format("{}.fuse{}", op, fused);
      const int64_t wanted = mode == fused ? each * counts.prefills : 0;
      const int64_t seen = counts.Prefill(label);
      if (seen == wanted) continue;
      return fmt::format(
          "label '{}' was counted {} times in prefill; mode {}, {} layers and {} "
          "prefills make {}",
          label, seen, mode, layers, counts.prefills, wanted);
    }
  }
  return UnaskedFallback(counts);
}

}  // namespace flipgate
