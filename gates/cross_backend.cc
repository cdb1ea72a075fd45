#include "gates/cross_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "gates/arm_run.h"
#include "gates/layer_compare.h"
#include "gates/logits.h"
#include "gates/stream_margin.h"

namespace flipgate {
namespace {

using fg::Json;

// A decode step a token from the empty context on: so many suffice to reach each of its kernels.
constexpr size_t kDecodeRows = 20;

// What one side dumped: a prefill of each prompt and its pinned tokens, then decode steps.
fg::Result<NodeDump> Dump(RunContext& context, Arm arm, Variables variables,
                          const std::vector<Prompt>& prompts, size_t tokens) {
  const std::string folder = context.scratch() + "/nodes-" + ArmName(arm);
  variables["FG_DUMP_DIR"] = folder;
  FG_ASSIGN_OR_RETURN(CellEngine engine, context.FreshEngine(arm, variables, context.cell().model));
  const std::string sum = engine.load().value("model", Json::object()).value("sha256", "");
  FG_ASSIGN_OR_RETURN(const ModelPins pins, CellPins(context, sum));
  for (const Prompt& prompt : prompts) {
    const PromptPins* pinned = pins.Find(prompt.name);
    if (pinned == nullptr) continue;  // longer than the model's context
    std::vector<int64_t> ids = pinned->ids;
    ids.insert(ids.end(), pinned->tokens.begin(),
               pinned->tokens.begin() +
                   static_cast<std::ptrdiff_t>(std::min(tokens, pinned->tokens.size())));
    const auto first = static_cast<int64_t>(pinned->ids.size()) - 1;
    FG_RETURN_IF_ERROR(Score(context, engine, ids, first, "prefill").status());
    ids.resize(std::min(ids.size(), kDecodeRows));
    FG_RETURN_IF_ERROR(Score(context, engine, ids, 0, "decode", 1).status());
  }
  return ReadNodeDump(folder);
}

Json LayersJson(const LayerComparison& layers) {
  return {{"nodes", layers.nodes},
          {"values", layers.values},
          {"worst_share", layers.worst},
          {"worst_node", layers.worst_node},
          {"worst_by_op", layers.worst_by_op}};
}

}  // namespace

fg::Result<CrossBackend> HoldAgainstReference(RunContext& context, const Variables& variables) {
  const double share = context.matrix().FindTolerance(context.spec().agreement.at("layers"))->value;
  const std::string there = "class " + context.spec().Text("against");
  const std::string here = "class " + context.hardware_class();
  const Variables off = context.Explicit({});
  FG_ASSIGN_OR_RETURN(const auto prompts, CellPrompts(context));
  const auto tokens = static_cast<size_t>(context.spec().Integer("tokens"));
  FG_ASSIGN_OR_RETURN(const NodeDump ours, Dump(context, Arm::kHead, variables, prompts, tokens));
  FG_ASSIGN_OR_RETURN(const NodeDump theirs, Dump(context, Arm::kReference, off, prompts, tokens));
  FG_ASSIGN_OR_RETURN(const LayerComparison layers,
                      CompareLayers(ours, here, theirs, there, share));
  for (const Arm arm : {Arm::kHead, Arm::kReference}) {
    std::error_code ignored;  // room for the other cells
    std::filesystem::remove_all(context.scratch() + "/nodes-" + ArmName(arm), ignored);
  }

  const std::string& model = context.cell().model;
  FG_ASSIGN_OR_RETURN(const ArmRun head,
                      RunArm(context, Arm::kHead, variables, model, prompts, CellOptions(context)));
  FG_ASSIGN_OR_RETURN(const ArmRun reference,
                      RunArm(context, Arm::kReference, off, model, prompts, CellOptions(context)));
  const MarginComparison streams =
      CompareByMargin(head.streams, here, reference.streams, there, share);
  CrossBackend cross;
  cross.labels = head.labels;
  cross.fault = layers.fault ? layers.fault : streams.fault;
  if (!cross.fault && (layers.nodes == 0 || streams.bound == 0))
    cross.fault = "no node, or no token that had to be equal, was held against " + there;
  cross.figures = {{"class", context.spec().Text("against")},
                   {"layers", LayersJson(layers)},
                   {"streams", streams.figures}};
  return cross;
}

}  // namespace flipgate
