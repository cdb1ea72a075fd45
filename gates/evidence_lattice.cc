#include "gates/evidence_lattice.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "gates/blind_spots.h"
#include "gates/model_pins.h"
#include "gates/run_context.h"
#include "gates/streams.h"

namespace flipgate {
namespace {

struct Corner {
  std::string name;
  Variables variables;
};

// The combinations of the same-bits gates, the others on.
std::vector<Variables> Combinations(const Matrix& matrix) {
  std::vector<Variables> combinations = {{}};
  for (const GateSpec& gate : matrix.gates()) {
    std::vector<Variables> wider;
    for (const Variables& base : combinations) {
      for (const auto& [setting, value] : gate.set) {
        if (!gate.same_bits && setting == "off") continue;
        Variables next = base;
        next[gate.name] = value;
        wider.push_back(next);
      }
    }
    combinations = std::move(wider);
  }
  return combinations;
}

std::string NameOf(const Variables& variables) {
  std::vector<std::string> words;
  for (const auto& [name, value] : variables) words.push_back(name + "=" + value);
  return fmt::format("{}", fmt::join(words, " "));
}

std::vector<Corner> Corners(const RunContext& context) {
  std::vector<Corner> corners;
  for (const Variables& gates : Combinations(context.matrix())) {
    for (const std::string& level : context.levels()) {
      Variables variables = gates;
      variables["FG_CPU_LEVEL"] = level;
      corners.push_back({NameOf(variables), variables});
    }
  }
  Variables all_on;
  for (const GateSpec& gate : context.matrix().gates()) all_on[gate.name] = gate.set.at("on");
  for (const fg::Json& threads : context.spec().fields.at("threads")) {
    Variables variables = all_on;
    variables["FG_THREADS"] = std::to_string(threads.get<int64_t>());
    corners.push_back({NameOf(variables), variables});
  }
  return corners;
}

struct Walk {
  std::vector<Stream> first;
  std::string first_name, sha256;
  std::map<std::string, std::string> digests;  // corner -> digest
  std::set<std::string> labels;
  std::set<std::vector<std::string>> label_sets;
  std::optional<std::string> fork;
};

fg::Status Visit(RunContext& context, const CellId& cell, const Corner& corner,
                 const std::vector<Prompt>& prompts, Walk* walk) {
  FG_ASSIGN_OR_RETURN(CellEngine engine, context.Engine(Arm::kHead, corner.variables, cell.model));
  StreamOptions options;
  options.tokens = context.spec().Integer("tokens");
  FG_ASSIGN_OR_RETURN(auto streams, CollectStreams(engine, prompts, options));
  FG_ASSIGN_OR_RETURN(const fg::Json ledger, engine.Ask({{"request", "ledger"}}));
  const auto labels = LedgerLabels(ledger);
  walk->labels.insert(labels.begin(), labels.end());
  walk->label_sets.insert(labels);
  walk->digests[corner.name] = StreamsDigest(streams);
  walk->sha256 = engine.load().value("model", fg::Json::object()).value("sha256", "");
  if (walk->first.empty()) {
    walk->first = std::move(streams);
    walk->first_name = "[" + corner.name + "]";
  } else if (!walk->fork) {
    walk->fork = FindFork(walk->first, walk->first_name, streams, "[" + corner.name + "]");
  }
  return fg::Status::Ok();
}

fg::Result<CellResult> WalkLattice(RunContext& context, const CellId& cell) {
  FG_ASSIGN_OR_RETURN(const auto prompts,
                      LoadPrompts(context.project(), context.spec().Text("prompts")));
  const std::vector<Corner> corners = Corners(context);
  Walk walk;
  for (const Corner& corner : corners) {
    FG_RETURN_IF_ERROR(Visit(context, cell, corner, prompts, &walk));
  }
  FG_ASSIGN_OR_RETURN(
      const ModelPins pins,
      LoadModelPins(context.project(), context.spec().Text("pins"), cell.model, walk.sha256));
  const PinsComparison oracle =
      CompareWithPins(walk.first, {walk.labels.begin(), walk.labels.end()}, pins);
  CellResult result;
  if (walk.fork) {
    result = CellResult::Fail("fork", *walk.fork);
  } else if (const auto why_not = oracle.WhyNot()) {
    result = CellResult::Fail("oracle", *why_not);
  } else {
    result.outcome = Outcome::kPass;
  }
  std::set<std::string> distinct;
  for (const auto& [corner, digest] : walk.digests) distinct.insert(digest);
  result.agreement = kBitwise;
  result.labels.assign(walk.labels.begin(), walk.labels.end());
  result.figures = {{"combinations", corners.size()},
                    {"levels", context.levels()},
                    {"distinct_digests", distinct.size()},
                    {"distinct_label_sets", walk.label_sets.size()},
                    {"tokens_per_combination", CountTokens(walk.first)},
                    {"oracle_tokens_compared", oracle.compared}};
  result.attachments = {
      {"lattice.json",
       fg::Json{{"digests", walk.digests}, {"streams", StreamsJson(walk.first)}}.dump(1)}};
  return result;
}

}  // namespace

CellResult RunLattice(RunContext& context, const CellId& cell) {
  if (context.levels().size() < 2) {
    return CellResult::Unsupported(
        "this processor has one instruction-set level only, so levels cannot be compared");
  }
  auto result = WalkLattice(context, cell);
  return result.ok() ? *result : context.Stopped(result.status());
}

}  // namespace flipgate
