#include "gates/evidence_readers.h"

#include <fmt/format.h>

#include <filesystem>

#include "gates/arm_run.h"
#include "gates/http_get.h"
#include "gates/mode_gate.h"
#include "gates/node_dump.h"

namespace flipgate {
namespace {

using fg::Json;

constexpr const char* kDumpDir = "FG_DUMP_DIR";
constexpr const char* kLive = "FG_LIVE";

// A setting that makes somebody read the intermediate values.
struct Reader {
  std::string variable, value;
  std::string reason;  // of the degradation
  std::string path;    // what it writes; "" where it writes nothing
};

fg::Result<std::vector<Reader>> Readers(const RunContext& context) {
  const std::string folder = context.scratch() + "/";
  FG_ASSIGN_OR_RETURN(const int port, FreePort());
  const std::string graph = folder + "graph.jsonl", dump = folder + "dump",
                    trace = folder + "trace.json";
  return std::vector<Reader>{
      {"FG_GRAPH_DUMP", graph, "reader FG_GRAPH_DUMP", graph},
      {kDumpDir, dump, std::string("reader ") + kDumpDir, dump},
      {"FG_TRACE", trace, "reader FG_TRACE", trace},
      {kLive, std::to_string(port), std::string("reader ") + kLive, ""},
      {"FG_PREFILL_GEMM", "0", "prefill_gemm", ""},
  };
}

struct Findings {
  std::optional<std::string> fault;
  std::string category;
  int64_t readers = 0, tokens = 0, oracle_tokens = 0, nodes = 0;
  std::set<std::string> labels;
  void Note(const char* of, const std::string& where, const std::optional<std::string>& what) {
    if (fault || !what) return;
    fault = where + ": " + *what;
    category = of;
  }
};

std::optional<std::string> PageFault(const Reader& reader, fg::Deadline deadline) {
  const auto page = HttpGet(std::stoi(reader.value), deadline);
  if (!page.ok()) return page.status().message();
  if (page->starts_with("HTTP/1.1 200 ") && page->find("<html") != std::string::npos) {
    return std::nullopt;
  }
  return "its page answered '" + page->substr(0, page->find('\r')) + "' or held no html";
}

std::optional<std::string> WrittenFault(const Reader& reader) {
  std::error_code error;
  if (reader.path.empty() || std::filesystem::is_directory(reader.path, error)) return std::nullopt;
  const auto size = std::filesystem::file_size(reader.path, error);
  if (!error && size > 0) return std::nullopt;
  return "it wrote nothing";
}

fg::Status RunReader(RunContext& context, const GateSpec& gate, const Reader& reader,
                     const std::vector<Prompt>& prompts, const ArmRun& plain, Findings* found) {
  const std::string on = gate.set.at("on");
  Variables variables = InMode(context, gate, on);
  variables[reader.variable] = reader.value;
  FG_ASSIGN_OR_RETURN(CellEngine engine,
                      context.FreshEngine(Arm::kHead, variables, context.cell().model));
  const ToldMode told = ReadMode(engine.load(), gate.name);
  const ToldMode expected = ExpectedMode(engine.load(), on, {reader.reason});
  if (!(told == expected)) {
    found->Note("mode", reader.variable,
                fmt::format("load says {}; {} is due", told.Text(), expected.Text()));
    return fg::Status::Ok();  // a mode too high may refuse to run, and that would hide why
  }
  FG_ASSIGN_OR_RETURN(const ArmRun run, RunPrompts(engine, prompts, CellOptions(context)));
  found->Note("fork", reader.variable,
              FindFork(plain.streams, "nobody reading", run.streams, reader.variable));
  if (reader.variable == kLive) {
    found->Note("page", reader.variable, PageFault(reader, context.deadline()));
  }
  found->Note("empty", reader.variable, WrittenFault(reader));
  found->tokens += CountTokens(run.streams);
  found->labels.insert(run.labels.begin(), run.labels.end());
  ++found->readers;
  return fg::Status::Ok();
}

// The logits that the dump of the first forward holds are those whose digest the first step told.
std::optional<std::string> LogitsFault(const NodeDump& dump, const ArmRun& run) {
  const int64_t vocabulary =
      run.load.value("model", Json::object()).value("vocabulary", int64_t{0});
  for (const auto& [index, node] : dump.begin()->second) {
    if (node.columns != vocabulary || node.rows != 1) continue;
    if (node.sha256 == run.streams.front().digests.front()) return std::nullopt;
    return fmt::format("the logits of {}, node {} are not those that step 0 told",
                       dump.begin()->first, index);
  }
  return "the first forward's dump holds no row of logits";
}

// The same dump in mode 0, where no producer skips anything.
fg::Status CompareDumps(RunContext& context, const GateSpec& gate, const std::string& seen,
                        const std::vector<Prompt>& prompts, Findings* found) {
  Variables variables = InMode(context, gate, gate.set.at("off"));
  variables[kDumpDir] = context.scratch() + "/dump-off";
  FG_ASSIGN_OR_RETURN(const ArmRun off, RunArm(context, Arm::kHead, variables, context.cell().model,
                                               prompts, CellOptions(context), Keep::kFresh));
  const auto with = ReadNodeDump(seen), without = ReadNodeDump(variables[kDumpDir]);
  for (const auto* dump : {&with, &without}) {
    if (!dump->ok()) found->Note("dump", kDumpDir, dump->status().message());
  }
  if (!with.ok() || !without.ok()) return fg::Status::Ok();
  found->Note("dump", kDumpDir,
              DumpDifference(*without, gate.name + "=0", *with, "the mode that dumps"));
  found->Note("dump", kDumpDir, LogitsFault(*without, off));
  found->nodes = CountNodes(*with);
  return fg::Status::Ok();
}

fg::Result<CellResult> Read(RunContext& context) {
  FG_ASSIGN_OR_RETURN(const GateSpec* gate, ModeGateOf(context));
  FG_ASSIGN_OR_RETURN(const auto prompts, CellPrompts(context));
  FG_ASSIGN_OR_RETURN(const auto readers, Readers(context));
  FG_ASSIGN_OR_RETURN(const ArmRun plain,
                      RunArm(context, Arm::kHead, InMode(context, *gate, gate->set.at("on")),
                             context.cell().model, prompts, CellOptions(context)));
  FG_ASSIGN_OR_RETURN(const ModelPins pins, CellPins(context, plain.sha256));
  Findings found;
  const PinsComparison oracle = CompareWithPins(plain.streams, plain.labels, pins);
  found.Note("oracle", "nobody reading", oracle.WhyNot());
  const ToldMode alone = ReadMode(plain.load, gate->name);
  if (alone.mode != gate->set.at("on")) {
    found.Note("mode", "nobody reading",
               "load says " + alone.Text() + ", so no reader could bring the mode down");
  }
  for (const Reader& reader : readers) {
    FG_RETURN_IF_ERROR(RunReader(context, *gate, reader, prompts, plain, &found));
    if (found.fault) break;
    if (reader.variable == kDumpDir) {
      FG_RETURN_IF_ERROR(CompareDumps(context, *gate, reader.path, prompts, &found));
    }
  }
  if (found.nodes == 0) found.Note("dump", kDumpDir, "no node was compared");
  CellResult result;
  if (found.fault) {
    result = CellResult::Fail(found.category, *found.fault);
  } else {
    result.outcome = Outcome::kPass;
  }
  result.agreement = kBitwise;
  result.labels.assign(found.labels.begin(), found.labels.end());
  result.figures = {{"readers", found.readers},
                    {"nodes_compared", found.nodes},
                    {"tokens_compared", found.tokens},
                    {"oracle_tokens_compared", oracle.compared}};
  result.attachments = {{"readers.json", Json{{"streams", StreamsJson(plain.streams)}}.dump(1)}};
  return result;
}

}  // namespace

CellResult RunReaders(RunContext& context, const CellId&) {
  auto result = Read(context);
  return result.ok() ? *result : context.Stopped(result.status());
}

}  // namespace flipgate
