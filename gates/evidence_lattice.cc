#include "gates/evidence_lattice.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "gates/arm_run.h"

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

Corner AtLevel(const Variables& gates, const std::string& level) {
  Corner corner{"", gates};
  corner.variables["FG_CPU_LEVEL"] = level;
  corner.name = NameOf(corner.variables);
  return corner;
}

std::vector<Corner> ThreadCorners(const RunContext& context) {
  Variables all_on;
  for (const GateSpec& gate : context.matrix().gates()) all_on[gate.name] = gate.set.at("on");
  std::vector<Corner> corners;
  for (const fg::Json& threads : context.spec().fields.at("threads")) {
    Corner corner{"", all_on};
    corner.variables["FG_THREADS"] = std::to_string(threads.get<int64_t>());
    corner.name = NameOf(corner.variables);
    corners.push_back(corner);
  }
  return corners;
}

using LabelSet = std::set<std::string>;
// What was dispatched, with the combinations that dispatched it.
using Paths = std::map<LabelSet, std::vector<Variables>>;

struct Walk {
  ArmRun first;
  std::string first_name;
  std::map<std::string, std::string> digests;  // corner -> digest
  std::set<std::string> labels;
  int64_t prefills = 0;
  std::optional<std::string> fork, label_fault;
};

// Runs one corner, compares it with the first, and says which labels it dispatched.
fg::Result<LabelSet> Visit(RunContext& context, const Corner& corner,
                           const std::vector<Prompt>& prompts, Walk* walk) {
  // A process of its own each: more environments than the pool keeps, each met once.
  FG_ASSIGN_OR_RETURN(ArmRun run,
                      RunArm(context, Arm::kHead, corner.variables, context.cell().model, prompts,
                             CellOptions(context), Keep::kFresh));
  LabelSet labels(run.labels.begin(), run.labels.end());
  walk->labels.insert(labels.begin(), labels.end());
  walk->digests[corner.name] = StreamsDigest(run.streams);
  walk->prefills += run.counts.prefills;
  const std::string name = "[" + corner.name + "]";
  if (walk->first.streams.empty()) {
    walk->first = std::move(run);
    walk->first_name = name;
  } else if (!walk->fork) {
    walk->fork = FindFork(walk->first.streams, walk->first_name, run.streams, name);
  }
  return labels;
}

// All combinations at the best level; at each other level one of every set of labels met there: a
// level knows nothing of gates, only of kernels. The first fork ends the walk: what lies behind it
// tells nothing more.
fg::Result<Paths> VisitAll(RunContext& context, const std::vector<Prompt>& prompts, Walk* walk) {
  Paths paths;
  const std::vector<std::string>& levels = context.levels();
  for (const Variables& gates : Combinations(context.matrix())) {
    FG_ASSIGN_OR_RETURN(LabelSet labels,
                        Visit(context, AtLevel(gates, levels.back()), prompts, walk));
    paths[std::move(labels)].push_back(gates);
    if (walk->fork) return paths;
  }
  for (size_t i = 0; i + 1 < levels.size(); ++i) {
    for (const auto& [wanted, gates] : paths) {
      const Corner corner = AtLevel(gates.front(), levels[i]);
      FG_ASSIGN_OR_RETURN(const LabelSet labels, Visit(context, corner, prompts, walk));
      if (walk->fork) return paths;
      if (labels == wanted || walk->label_fault) continue;
      walk->label_fault =
          fmt::format("[{}] dispatches other labels than level {}", corner.name, levels.back());
    }
  }
  for (const Corner& corner : ThreadCorners(context)) {
    FG_RETURN_IF_ERROR(Visit(context, corner, prompts, walk).status());
  }
  return paths;
}

fg::Result<CellResult> WalkLattice(RunContext& context, const CellId& cell) {
  FG_ASSIGN_OR_RETURN(const auto prompts, CellPrompts(context));
  Walk walk;
  FG_ASSIGN_OR_RETURN(const auto paths, VisitAll(context, prompts, &walk));
  const auto wanted = context.spec().fields.at("distinct_paths").at(cell.model).get<size_t>();
  FG_ASSIGN_OR_RETURN(const ModelPins pins, CellPins(context, walk.first.sha256));
  const PinsComparison oracle =
      CompareWithPins(walk.first.streams, {walk.labels.begin(), walk.labels.end()}, pins);
  CellResult result;
  if (walk.fork) {
    result = CellResult::Fail("fork", *walk.fork);
  } else if (const auto why_not = oracle.WhyNot()) {
    result = CellResult::Fail("oracle", *why_not);
  } else if (walk.label_fault) {
    result = CellResult::Fail("label", *walk.label_fault);
  } else if (walk.prefills == 0) {
    result = CellResult::Fail("label", "no forward had 16 rows or more");
  } else if (paths.size() != wanted) {
    result = CellResult::Fail(
        "label", fmt::format("the combinations took {} distinct paths by their labels, the matrix "
                             "wants {}",
                             paths.size(), wanted));
  } else {
    result.outcome = Outcome::kPass;
  }
  std::set<std::string> distinct;
  for (const auto& [corner, digest] : walk.digests) distinct.insert(digest);
  fg::Json shown = fg::Json::array();
  for (const auto& [labels, gates] : paths) {
    std::vector<std::string> names;
    for (const Variables& combination : gates) names.push_back(NameOf(combination));
    shown.push_back({{"first", names.front()}, {"labels", labels}, {"combinations", names}});
  }
  result.agreement = kBitwise;
  result.labels.assign(walk.labels.begin(), walk.labels.end());
  result.figures = {{"combinations", Combinations(context.matrix()).size()},
                    {"corners", walk.digests.size()},
                    {"levels", context.levels()},
                    {"distinct_digests", distinct.size()},
                    {"distinct_paths", paths.size()},
                    {"tokens_per_combination", CountTokens(walk.first.streams)},
                    {"oracle_tokens_compared", oracle.compared}};
  result.attachments = {{"lattice.json", fg::Json{{"digests", walk.digests},
                                                  {"paths", shown},
                                                  {"streams", StreamsJson(walk.first.streams)}}
                                             .dump(1)}};
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
