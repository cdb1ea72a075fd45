#include "gates/evidence_parity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/file.h"
#include "gates/arm_run.h"
#include "gates/blind_spots.h"
#include "gates/cross_backend.h"
#include "gates/label_rules.h"
#include "gates/logits.h"
#include "gates/model_pins.h"
#include "gates/op_pins.h"
#include "gates/run_context.h"

namespace flipgate {
namespace {

using fg::Json;

struct Tally {
  int64_t ops = 0, planes = 0, values = 0, different = 0, noise = 0, rounding = 0,
          bug = 0;  // operations
  double op_worst = 0;
  int64_t logits = 0, tokens = 0, free = 0;  // models
  double logit_worst = 0, tolerance = 0;     // largest deviation, and what rounding explains
  std::string path;                          // whose tolerance: "int8", "f16"
  std::set<std::string> labels;
  std::map<std::string, int64_t> op_labels;    // labels that the operations reached
  std::map<std::string, OpVerdict> by_op;      // deviations by operation and kernel
  std::map<std::string, int64_t> unsupported;  // operations that the device refuses
  OpLimit limit;
  double f16_share = 0;  // of attention on rounded inputs, where the class has such a kernel
  std::optional<std::string> fault;
  std::string fault_class;  // "op", "logits"
};

// Which of a matmul's expectations a label stands for.
std::string ExpectationFor(const std::string& label) {
  if (label.starts_with("mmq.")) return "y_int8";
  if (label.starts_with("gemm.f16.")) return "y_f16";
  if (label.starts_with("gemm.f32.")) return "y_f32";
  if (label.starts_with("row.")) return "y_row";
  return "";
}

Json OpRequest(const OpPins& pins, const OpCase& pinned, const std::string& out) {
  Json inputs = Json::object();
  for (const auto& [name, array] : pinned.inputs) {
    inputs[name] = {
        {"file", pins.folder + "/" + array.file}, {"dtype", array.dtype}, {"shape", array.shape}};
  }
  return {{"request", "op"},
          {"op", pinned.op},
          {"inputs", inputs},
          {"params", pinned.params},
          {"out", out}};
}

// Which expectation each of the answer's outputs is held against: output -> key. A matmul's depends
// on the path that its label names.
std::map<std::string, std::string> WantedOutputs(const OpCase& pinned, const Json& answer,
                                                 Tally* tally) {
  std::map<std::string, std::string> wanted;
  if (pinned.op != "matmul") {
    for (const auto& [key, array] : pinned.expect) wanted[key] = key;
  }
  for (const Json& entry : answer.value("labels", Json::array())) {
    const std::string label = entry.value("label", "");
    tally->labels.insert(entry.value("phase", "") + " " + entry.value("op", "") + " " + label);
    ++tally->op_labels[label];
    if (pinned.op == "matmul" && entry.value("op", "") == "matmul")
      wanted["y"] = ExpectationFor(label);
  }
  return wanted;
}

// What deviations are counted under: an operation, a matmul with its kernel.
std::string Measured(const OpCase& pinned, const Json& answer) {
  for (const Json& entry : answer.value("labels", Json::array())) {
    if (pinned.op == "matmul" && entry.value("op", "") == "matmul") {
      return "matmul " + entry.value("label", "");
    }
  }
  return pinned.op;
}

void Book(const OpCase& pinned, const std::string& measured, const std::string& key,
          const OpVerdict& verdict, Tally* tally) {
  OpVerdict& of_op = tally->by_op[measured];
  of_op.noise += verdict.noise;
  of_op.rounding += verdict.rounding;
  of_op.bug += verdict.bug;
  of_op.worst = std::max(of_op.worst, verdict.worst);
  tally->values += verdict.values;
  tally->different += verdict.different;
  tally->noise += verdict.noise;
  tally->rounding += verdict.rounding;
  tally->bug += verdict.bug;
  tally->op_worst = std::max(tally->op_worst, verdict.worst);
  if (key == "plane") ++tally->planes;
  if (verdict.fault.empty() || tally->fault) return;
  tally->fault = fmt::format("{} ({}): {}", pinned.name, key, verdict.fault);
  tally->fault_class = "op";
}

// Attention of many rows on a device takes queries and shares rounded to f16, which the pinned
// bound of an operation in f32 does not know.
bool RoundsInputs(const Json& answer) {
  const Json labels = answer.value("labels", Json::array());
  return std::any_of(labels.begin(), labels.end(), [](const Json& entry) {
    return entry.value("label", "") == "attention.many";
  });
}

fg::Status RunCase(RunContext& context, CellEngine& engine, const OpPins& pins,
                   const OpCase& pinned, Tally* tally) {
  const std::string out = context.scratch() + "/op";
  FG_RETURN_IF_ERROR(fg::MakeFolders(out));
  FG_ASSIGN_OR_RETURN(const Asked asked, engine.AskAny(OpRequest(pins, pinned, out)));
  if (asked.state == AskState::kRefusal) {
    // What a device does not have is no evidence for it, and none against it; bits are owed by all.
    if (tally->limit.bitwise || asked.error_kind != "refused")
      return context.Stop(Arm::kHead, asked);
    ++tally->unsupported[pinned.op];
    return fg::Status::Ok();
  }
  const Json& answer = asked.answer;
  const Json outputs = answer.value("outputs", Json::object());
  const auto wanted = WantedOutputs(pinned, answer, tally);
  ++tally->ops;
  for (const auto& [output, key] : wanted) {
    if (!pinned.expect.contains(key)) {
      tally->fault = fmt::format("{}: its dispatch took a path that no oracle expects here ('{}')",
                                 pinned.name, key);
      tally->fault_class = "op";
      return fg::Status::Ok();
    }
    const Json described = outputs.value(output, Json::object());
    FG_ASSIGN_OR_RETURN(const std::string got, fg::ReadFile(described.value("file", "")));
    OpLimit limit = tally->limit;
    if (RoundsInputs(answer)) limit.share = tally->f16_share;
    FG_ASSIGN_OR_RETURN(const OpVerdict verdict, JudgeOp(pins, pinned, key, got, limit));
    Book(pinned, Measured(pinned, answer), key, verdict, tally);
  }
  if (!wanted.empty()) return fg::Status::Ok();
  return engine.BadAnswer("op " + pinned.op + ": no label says which path a matmul took");
}

fg::Status CheckOps(RunContext& context, const Variables& variables, Tally* tally) {
  FG_ASSIGN_OR_RETURN(const OpPins pins, LoadOpPins(context.project(), context.spec().Text("ops")));
  FG_ASSIGN_OR_RETURN(CellEngine engine, context.Engine(Arm::kHead, variables, ""));
  for (const OpCase& pinned : pins.cases) {
    FG_RETURN_IF_ERROR(RunCase(context, engine, pins, pinned, tally));
  }
  return fg::Status::Ok();
}

// One step's logits against the oracle's.
void CheckStep(const PromptPins& pins, double tolerance, size_t step, const float* got,
               Tally* tally) {
  const int64_t n = pins.vocabulary;
  const float* exact = pins.logits.data() + step * static_cast<size_t>(n);
  for (int64_t i = 0; i < n; ++i) {
    const double deviation = std::abs(static_cast<double>(got[i]) - exact[i]);
    if (!tally->fault && !(deviation <= tolerance)) {
      tally->fault = fmt::format(
          "prompt '{}', step {}: logit {} is {:.6g}, float64 has {:.6g}; tolerance {:.6g}",
          pins.name, step, i, got[i], exact[i], tolerance);
      tally->fault_class = "logits";
    }
    if (std::isfinite(deviation)) tally->logit_worst = std::max(tally->logit_worst, deviation);
    ++tally->logits;
  }
  if (step >= pins.tokens.size()) return;
  const int64_t top = std::max_element(got, got + n) - got;
  if (!(pins.margins[step] > tolerance)) {
    ++tally->free;
  } else if (top == pins.tokens[step]) {
    ++tally->tokens;
  } else if (!tally->fault) {
    tally->fault = fmt::format(
        "prompt '{}', step {}: top token {}, float64 has {} by a margin of {:.6g}, above the "
        "tolerance {:.6g}",
        pins.name, step, top, pins.tokens[step], pins.margins[step], tolerance);
    tally->fault_class = "logits";
  }
}

fg::Status CheckLogits(RunContext& context, const Variables& variables, const std::string& model,
                       Tally* tally) {
  FG_ASSIGN_OR_RETURN(CellEngine engine, context.Engine(Arm::kHead, variables, model));
  const std::string sum = engine.load().value("model", Json::object()).value("sha256", "");
  FG_ASSIGN_OR_RETURN(const ModelPins pins,
                      LoadModelPins(context.project(), context.spec().Text("pins"), model, sum));
  const double factor =
      context.matrix().FindTolerance(context.spec().agreement.at("logits"))->value;
  std::map<std::string, Logits> scored;
  for (const PromptPins& prompt : pins.prompts) {
    std::vector<int64_t> tokens = prompt.ids;
    tokens.insert(tokens.end(), prompt.tokens.begin(), prompt.tokens.end());
    const int64_t first = static_cast<int64_t>(prompt.ids.size()) - 1;
    FG_ASSIGN_OR_RETURN(Logits logits, Score(context, engine, tokens, first, prompt.name));
    if (logits.vocabulary != prompt.vocabulary) {
      return fg::Status(fg::ErrorKind::kUsage,
                        "the pinned logits have another vocabulary than the model");
    }
    scored[prompt.name] = std::move(logits);
  }
  FG_ASSIGN_OR_RETURN(const Json ledger, engine.Ask({{"request", "ledger"}}));
  const std::vector<std::string> labels = LedgerLabels(ledger);
  tally->labels.insert(labels.begin(), labels.end());
  tally->path = PinnedPath(labels);
  const double tolerance = factor * pins.tolerances.at(tally->path);
  for (const PromptPins& prompt : pins.prompts) {
    const Logits& logits = scored[prompt.name];
    for (int64_t step = 0; step < logits.rows; ++step) {
      CheckStep(prompt, tolerance, static_cast<size_t>(step), logits.row(step), tally);
    }
  }
  tally->tolerance = tolerance;
  return fg::Status::Ok();
}

// The operations must have reached a label of the gate, else they say nothing of it.
std::optional<std::string> Unreached(const GateSpec* gate, const Tally& tally) {
  if (gate == nullptr) return std::nullopt;
  for (const LabelRule& rule : gate->live) {
    for (const auto& [label, count] : tally.op_labels) {
      if (LabelMatches(rule.pattern, label) && count > 0) return std::nullopt;
    }
  }
  return "no pinned operation reached a label of " + gate->name;
}

Json ByOp(const Tally& tally) {
  Json rows = Json::object();
  for (const auto& [name, of_op] : tally.by_op) {
    rows[name] = {{"noise", of_op.noise},
                  {"rounding", of_op.rounding},
                  {"bug", of_op.bug},
                  {"worst", of_op.worst}};
  }
  return rows;
}

fg::Result<CellResult> Check(RunContext& context, const CellId& cell) {
  const GateSpec* gate = context.gate();
  const Variables variables = gate != nullptr ? context.OptInUnshadowed(*gate) : Variables{};
  Tally tally;
  const auto& agreement = context.spec().agreement;
  if (const Tolerance* named = context.matrix().FindTolerance(agreement.at("ops")))
    tally.limit = {.bitwise = false, .factor = named->value};
  const auto layers = agreement.find("layers");
  if (!tally.limit.bitwise && layers != agreement.end())
    tally.f16_share = context.matrix().FindTolerance(layers->second)->value;
  FG_RETURN_IF_ERROR(CheckOps(context, variables, &tally));
  if (!tally.fault) {
    tally.fault = Unreached(gate, tally);
    tally.fault_class = "label";
  }
  FG_RETURN_IF_ERROR(CheckLogits(context, variables, cell.model, &tally));
  CrossBackend cross;
  if (layers != agreement.end()) {
    FG_ASSIGN_OR_RETURN(cross, HoldAgainstReference(context, variables));
    tally.labels.insert(cross.labels.begin(), cross.labels.end());
    if (!tally.fault && cross.fault) {
      tally.fault = cross.fault;
      tally.fault_class = "cross_backend";
    }
  }
  CellResult result;
  if (tally.fault) {
    result = CellResult::Fail(tally.fault_class, *tally.fault);
  } else if (tally.ops == 0 || tally.planes == 0 || tally.tokens == 0 || tally.logits == 0) {
    result = CellResult::Fail("oracle",
                              "no operation, plane, logit or token was held against an oracle");
  } else {
    result.outcome = Outcome::kPass;
  }
  result.agreement =
      fmt::format("{} (ops), {} (logits)", agreement.at("ops"), agreement.at("logits"));
  if (layers != agreement.end()) result.agreement += ", " + layers->second + " (layers)";
  result.labels.assign(tally.labels.begin(), tally.labels.end());
  result.figures = {{"ops", tally.ops},
                    {"planes", tally.planes},
                    {"op_values", tally.values},
                    {"op_deviation",
                     {{"noise", tally.noise},
                      {"rounding", tally.rounding},
                      {"bug", tally.bug},
                      {"worst_share_of_tolerance", tally.op_worst},
                      {"by_op", ByOp(tally)}}},
                    {"logits", tally.logits},
                    {"logit_worst", tally.logit_worst},
                    {"logit_tolerance", tally.tolerance},
                    {"path", tally.path},
                    {"tokens_compared", tally.tokens},
                    {"free_steps", tally.free},
                    {"op_labels", tally.op_labels}};
  if (!tally.limit.bitwise) {
    result.figures["different_bits"] = tally.different;
    result.figures["unsupported_ops"] = tally.unsupported;
  }
  if (layers != agreement.end()) result.figures["against_reference"] = cross.figures;
  return result;
}

}  // namespace

CellResult RunParity(RunContext& context, const CellId& cell) {
  auto result = Check(context, cell);
  return result.ok() ? *result : context.Stopped(result.status());
}

}  // namespace flipgate
