// Whole kinds of evidence against an engine of a few lines (testing/scripted_engine.py): green when
// it behaves, and red for each planted defect, with the category and the sentence that a person
// reads.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "base/sha256.h"
#include "base/testing/temp_dir.h"
#include "gates/run_context.h"

namespace flipgate {
namespace {

const std::vector<std::string> kKinds = {"lattice",   "reuse_neutral", "mixed_quant",
                                         "backstop",  "readers",       "determinism",
                                         "sanitizer", "memory_two_way"};

const std::vector<std::pair<std::string, std::string>> kModels = {
    {"m", R"({"w16": {"q4_K": 4}, "width": 256, "ffn": 512, "layers": 2, "vocabulary": 64})"},
    {"mixed",
     R"({"w16": {"q4_K": 3, "q8_0": 1}, "width": 256, "ffn": 512, "layers": 2, "vocabulary": 64})"},
    {"f16", R"({"w16": {"f16": 4}, "width": 256, "ffn": 512, "layers": 2, "vocabulary": 64})"},
    {"narrow", R"({"w16": {"q4_K": 4}, "width": 320, "ffn": 512, "layers": 2, "vocabulary": 64})"}};

const std::string kTool = std::string(FG_SOURCE_DIR) + "/gates/testing/scripted_tool.py";

std::string MatrixText() {
  std::string text =
      "version: 1\ntolerances: {near: {value: 1, cause: rounding}, close: {value: 0.1, cause: "
      "rounding}, slack: {value: 8, cause: pages}}\nmodels:\n";
  for (const auto& [name, bytes] : kModels) {
    text += fmt::format("  {}: {{from: source, quantize: q, sha256: \"{}\"}}\n", name,
                        fg::Sha256Hex(bytes));
  }
  return text +
         "gates:\n"
         "  FG_A: {needs: [], set: {on: {env: 1}, off: {env: 0}}, bits: other, live: {x: \">= "
         "1\"}}\n"
         "  FG_B: {needs: [FG_A], set: {on: {env: 1}, off: {env: 0}}, bits: same, live: {x: \">= "
         "1\"}}\n"
         "  FG_MODE: {needs: [FG_A], set: {on: {env: 2}, one: {env: 1}, off: {env: 0}}, bits: "
         "same, "
         "live: {x: \">= 1\"}}\n"
         "evidence:\n"
         "  lattice: {models: [m], prompts: prompts, only: [plain], tokens: 3, threads: [1, 2], "
         "distinct_paths: {m: 6}, pins: pins, agreement: bitwise}\n"
         "  reuse_neutral: {models: [m], turn_rows: 20, tokens: 4, pins: pins, agreement: "
         "bitwise}\n"
         "  mixed_quant: {models: [mixed, f16, narrow], prompts: prompts, tokens: 4, pins: pins, "
         "agreement: bitwise}\n"
         "  backstop: {models: [m], prompts: prompts, only: [plain], tokens: 4, pins: pins, "
         "agreement: {streams: bitwise, logits: near}}\n"
         "  readers: {models: [m], prompts: prompts, only: [plain], tokens: 2, pins: pins, "
         "agreement: bitwise}\n"
         "  determinism: {models: [m], prompts: prompts, only: [plain], tokens: 3, repeats: 2, "
         "prefix_tokens: 40, rows: [8], threads: [1, 2], pins: pins, agreement: {repeats: bitwise, "
         "arms: close}}\n"
         "  sanitizer: {models: [m], command: [" +
         kTool +
         ", clean, --tool, \"{tool}\", --log, \"{log}\"], search: [/nowhere], tools: [memcheck, "
         "racecheck], prompt_tokens: 21, tokens: 2, variables: {FG_CLEAR_OUTPUTS: 1}, eager: "
         "{FG_CAPTURE: 0}, agreement: bitwise}\n"
         "  memory_two_way: {models: [m], prompt_tokens: 20, tokens: 2, agreement: {share: close, "
         "slack_mib: slack}}\n"
         "cells:\n"
         "  determinism: {default: required, FG_A: {shared_with: default}, FG_B: {shared_with: "
         "default}, FG_MODE: {shared_with: default}}\n"
         "  sanitizer: {default: required, FG_A: {shared_with: default}, FG_B: {shared_with: "
         "default}, FG_MODE: {shared_with: default}}\n"
         "  memory_two_way: {default: required, FG_A: {shared_with: default}, FG_B: {shared_with: "
         "default}, FG_MODE: {shared_with: default}}\n"
         "  lattice: {default: required, FG_A: {shared_with: default}, FG_B: {shared_with: "
         "default}, "
         "FG_MODE: {shared_with: default}}\n"
         "  reuse_neutral: {default: required, FG_A: required, FG_B: required, FG_MODE: required}\n"
         "  mixed_quant: {default: required, FG_A: required, FG_B: required, FG_MODE: required}\n"
         "  backstop: {default: required, FG_A: required, FG_B: required, FG_MODE: required}\n"
         "  readers: {default: required, FG_A: required, FG_B: required, FG_MODE: required}\n";
}

const std::string kScript = std::string(FG_SOURCE_DIR) + "/gates/testing/scripted_engine.py";

std::vector<HelloGate> Gates() {
  return {{"FG_A", "promoted", "other", "1", {}, "switch", {}},
          {"FG_B", "opt_in", "same", "0", {"FG_A"}, "switch", {}},
          {"FG_MODE", "opt_in", "same", "0", {"FG_A"}, "mode", {"0", "1", "2"}}};
}

// A project with prompts, models and pins in a folder of the test's own, made once.
const std::string& Root() {
  static const std::string kRoot = [] {
    const std::string root = fg::ProcessTempDir() + "kinds";
    for (const char* folder : {"/prompts", "/.cache/models", "/scratch"}) {
      EXPECT_TRUE(fg::MakeFolders(root + folder).ok());
    }
    EXPECT_TRUE(fg::WriteFileAtomic(root + "/source", "s").ok());
    EXPECT_TRUE(
        fg::WriteFileAtomic(root + "/prompts/plain.txt", "The quick brown fox jumps.").ok());
    EXPECT_TRUE(fg::WriteFileAtomic(root + "/prompts/talk.txt",
                                    "A longer one, so that it takes more than two turns of rows.")
                    .ok());
    for (const auto& [name, bytes] : kModels) {
      const std::string path = fmt::format("{}/.cache/models/{}-{}.gguf", root, name,
                                           fg::Sha256Hex(bytes).substr(0, 16));
      EXPECT_TRUE(fg::WriteFileAtomic(path, bytes).ok());
      const fg::ProcessSpec spec = {{"/usr/bin/env", "python3", kScript, "pins", path,
                                     root + "/prompts", root + "/pins/" + name},
                                    fg::PassedEnvironment({"PATH"})};
      const auto made = fg::RunProcess(spec, fg::RunProcessOptions{});
      EXPECT_TRUE(made.ok() && made->exit.ok()) << (made.ok() ? made->err : "");
    }
    return root;
  }();
  return kRoot;
}

using Changes = std::vector<std::pair<std::string, std::string>>;

CellResult RunKind(const std::string& defect, const CellId& cell, const Changes& changes = {}) {
  std::string text = MatrixText();
  for (const auto& [from, to] : changes) {
    EXPECT_NE(text.find(from), std::string::npos) << from;
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  }
  auto matrix = Matrix::Parse(text, "m.yaml", kKinds);
  EXPECT_TRUE(matrix.ok()) << matrix.status().message();
  RunOptions options;
  options.matrix = std::move(matrix).value();
  options.project.root = Root();
  options.project.cache = ".cache";
  options.hardware_class = "cpu";
  const std::vector<std::string> command = {"/usr/bin/env", "python3", kScript, defect};
  const auto passed = fg::PassedEnvironment({"PATH"});
  EnginePool pool({{"head", command}}, passed, 4);
  ModelStore models(options.project, options.matrix, command, passed);
  RunState state;
  state.options = &options;
  state.head_gates = Gates();
  state.levels = {"low", "high"};
  state.pool = &pool;
  state.models = &models;
  const std::string scratch = Root() + "/scratch/" + cell.kind + "-" + defect;
  EXPECT_TRUE(fg::MakeFolders(scratch).ok());
  RunContext context(state, cell, fg::After(std::chrono::seconds(120)), scratch);
  const auto& kinds = AllEvidenceKinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const EvidenceKind& k) { return k.name == cell.kind; });
  CellResult result = kind->run(context, cell);
  // A null in a passing cell's figures would be a NaN to `flipgate verify`.
  if (result.outcome == Outcome::kPass) {
    EXPECT_EQ(result.figures.dump().find("null"), std::string::npos) << result.figures.dump();
  }
  return result;
}

void Green(const CellId& cell, const Changes& changes = {}) {
  const CellResult result = RunKind("none", cell, changes);
  EXPECT_EQ(result.outcome, Outcome::kPass) << cell.Text() << ": " << result.reason;
  EXPECT_EQ(result.reason, "");
}

void Red(const std::string& defect, const CellId& cell, const std::string& category,
         const std::string& reason, const Changes& changes = {}) {
  const CellResult result = RunKind(defect, cell, changes);
  EXPECT_EQ(result.outcome, Outcome::kFail) << defect;
  EXPECT_EQ(result.category, category) << defect << ": " << result.reason;
  EXPECT_NE(result.reason.find(reason), std::string::npos) << defect << ": " << result.reason;
}

TEST(EvidenceKinds, EveryKindSaysWhatItIs) {
  for (const EvidenceKind& kind : AllEvidenceKinds()) {
    for (const char* text :
         {kind.name, kind.question, kind.defends, kind.independent_arm, kind.bisect}) {
      EXPECT_NE(std::string(text), "") << kind.name;
    }
    EXPECT_NE(kind.run, nullptr);
  }
}

TEST(Lattice, WalksEveryCombinationAndCountsPaths) {
  const CellResult result = RunKind("none", {"lattice", "default", "m"});
  EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
  EXPECT_EQ(result.figures["combinations"], 6);  // FG_B by three modes, FG_A on
  EXPECT_EQ(result.figures["distinct_paths"], 6);
  EXPECT_EQ(result.figures["corners"], 6 + 6 + 2);  // one a path at the lower level; threads
  EXPECT_EQ(result.figures["distinct_digests"], 1);
}

TEST(Lattice, RedForACrossTermAndForPathsThatBecameOne) {
  const CellId cell{"lattice", "default", "m"};
  Red("mode1_forks", cell, "fork", "[FG_A=1 FG_B=0 FG_CPU_LEVEL=high FG_MODE=0] chose token");
  Red("low_forks", cell, "fork", "FG_CPU_LEVEL=low");
  Red("one_path", cell, "label",
      "the combinations took 3 distinct paths by their labels, the matrix wants 6");
  Red("level_labels", cell, "label",
      "[FG_A=1 FG_B=0 FG_CPU_LEVEL=low FG_MODE=0] dispatches other labels than level high");
}

TEST(Lattice, APromptThatIsNotThereIsAnError) {
  const CellResult result =
      RunKind("none", {"lattice", "default", "m"}, {{"only: [plain]", "only: [plane]"}});
  EXPECT_EQ(result.outcome, Outcome::kError);
  EXPECT_EQ(result.reason, "prompts: no prompt is called 'plane'; did you mean 'plain'?");
}

TEST(ReuseNeutral, GreenOnTurnsThatAgree) {
  const CellResult result = RunKind("none", {"reuse_neutral", "default", "m"});
  EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
  EXPECT_EQ(result.figures["settings"], 6);  // nothing, all off, three gates, one more mode
  EXPECT_EQ(result.figures["conversations"], 2);
  EXPECT_GT(result.figures["graphs_reused"], 0);
  EXPECT_GT(result.figures["oracle_logits_compared"], 0);
  Green({"reuse_neutral", "FG_MODE", "m"});
}

TEST(ReuseNeutral, RedForAGateInTheGraphAndForARowTooFew) {
  const CellId cell{"reuse_neutral", "default", "m"};
  Red("gate_in_graph", cell, "graph", "; FG_MODE opted in: ");
  Red("kv_row_off", cell, "oracle", "with nothing set: against the oracle: prompt 'plain', step 0");
  Red("stale_graph", cell, "fork",
      "with nothing set: prompt 'plain', step 0: the streams fork: turns going on chose token");
  Red("reuse_ignored", cell, "graph", "with nothing set: asked for graphs built anew, but ");
}

TEST(MixedQuant, GreenWhereTheLadderHolds) {
  for (const char* model : {"mixed", "f16", "narrow"}) {
    Green({"mixed_quant", "FG_MODE", model});
    Green({"mixed_quant", "default", model});
  }
  const CellResult narrow = RunKind("none", {"mixed_quant", "FG_MODE", "narrow"});
  EXPECT_EQ(narrow.figures["modes"]["2"],
            (fg::Json{{"mode", "0"}, {"reasons", fg::Json::array({"width"})}}));
  const CellResult mixed = RunKind("none", {"mixed_quant", "FG_MODE", "mixed"});
  EXPECT_EQ(mixed.figures["modes"]["2"],
            (fg::Json{{"mode", "1"}, {"reasons", fg::Json::array({"weight_mix"})}}));
  EXPECT_EQ(mixed.figures["nibble_family_only"], false);
}

TEST(MixedQuant, RedForAWeightThatTheModeCannotConsume) {
  Red("mix_ignored", {"mixed_quant", "FG_MODE", "mixed"}, "mode",
      "FG_MODE=2: load says asked 2, mode 2, reasons []; the model's weights and widths make asked "
      "2, mode 1, reasons [weight_mix]");
  Red("mix_blind", {"mixed_quant", "FG_MODE", "f16"}, "flag",
      "load says nibble_family_only true, its own table of weights {\"f16\":4} says false");
  Red("no_reason", {"mixed_quant", "FG_MODE", "narrow"}, "mode", "mode 0, reasons []");
  Red("fuse_dead", {"mixed_quant", "FG_MODE", "mixed"}, "label",
      "label 'rms_norm.fuse1' was counted 0 times in prefill; mode 1, 2 layers and 2 prefills make "
      "6");
  Red("mode1_forks", {"mixed_quant", "FG_MODE", "mixed"}, "fork",
      "all modes must be equal: prompt 'plain', step 1");
}

TEST(MixedQuant, ARowWithoutModesIsAnError) {
  const CellResult result = RunKind("none", {"mixed_quant", "FG_B", "mixed"});
  EXPECT_EQ(result.outcome, Outcome::kError);
  EXPECT_EQ(result.reason, "FG_B is no mode gate by head's hello; this kind is about modes");
}

TEST(Backstop, GreenWhereBrokenPromisesSpeakUp) {
  const CellResult result = RunKind("none", {"backstop", "FG_MODE", "m"});
  EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
  EXPECT_EQ(result.figures["refusals"], 2);
  EXPECT_EQ(result.figures["logits"], 7 * 64);  // six steps and the one behind them
  Green({"backstop", "default", "m"});
}

TEST(Backstop, RedForEveryWayOfKeepingQuiet) {
  const CellId cell{"backstop", "FG_MODE", "m"};
  Red("silent", cell, "silent",
      "the violation 'dead_write' was answered as if nothing had happened");
  Red("wrong_kind", cell, "silent",
      "the violation 'dead_write' ended as internal at 'op.forward', not as refused");
  Red("not_booked", cell, "silent", "the ledger holds 0 refusals, 0 of them the answer's");
  Red("leaves_file", cell, "silent", "the refusal of 'dead_write' left 1 files behind");
  Red("spoilt_after", cell, "fork", "the same engine after 'dead_write' chose token");
  Red("forward_off", cell, "logits", "logit 0 of the forward is");
}

TEST(Readers, GreenWhereEveryReaderSeesTrueValues) {
  const CellResult result = RunKind("none", {"readers", "FG_MODE", "m"});
  EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
  EXPECT_EQ(result.figures["readers"], 5);
  EXPECT_EQ(result.figures["nodes_compared"], 6);  // three nodes of a prefill and of a decode
}

TEST(Readers, RedForEveryWayOfShowingSomethingElse) {
  const CellId cell{"readers", "FG_MODE", "m"};
  Red("reader_ignored", cell, "mode",
      "FG_GRAPH_DUMP: load says asked 2, mode 2, reasons []; asked 2, mode 1, reasons [reader "
      "FG_GRAPH_DUMP] is due");
  Red("reader_forks", cell, "fork", "FG_TRACE: prompt 'plain', step 0");
  Red("reader_silent", cell, "empty", "FG_GRAPH_DUMP: it wrote nothing");
  Red("node_missing", cell, "dump",
      "FG_DUMP_DIR: forward-000000, node 2 (matmul) was dumped with FG_MODE=0 and not with the "
      "mode that dumps");
  Red("page_dead", cell, "page", "Connection refused");
  Red("page_broken", cell, "page", "its page answered 'HTTP/1.");
}

// What a device's class says beside the processor's.
const Changes kEager = {{"turn_rows: 20, tokens: 4,",
                         "turn_rows: 20, tokens: 4, eager: {FG_CAPTURE: 0}, eager_tokens: 60,"}};

TEST(ReuseNeutral, ReplayIsHeldToEager) {
  const CellId cell{"reuse_neutral", "default", "m"};
  const CellResult result = RunKind("none", cell, kEager);
  EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
  EXPECT_EQ(result.figures["replay"]["tokens_compared"], 60 + 3 * 12);
  EXPECT_GT(result.figures["replay"]["captures"], 0);
  EXPECT_GT(result.figures["replay"]["replays"], 0);
  EXPECT_EQ(result.figures["replay"]["replays_eager"], 0);
}

TEST(ReuseNeutral, RedForEveryWayInWhichReplayIsNotEager) {
  const CellId cell{"reuse_neutral", "default", "m"};
  Red("replay_forks", cell, "replay",
      "prompt 'long', step 15: the streams fork: the run that replays chose token", kEager);
  Red("replay_labels", cell, "replay", "label 'add.replayed' was counted", kEager);
  Red("replay_launches", cell, "replay", " operations where steps are replayed, ", kEager);
  Red("never_captures", cell, "replay", "with nothing set 0 captures and 0 replays were counted",
      kEager);
  Red("eager_captures", cell, "replay", "where each step should run by itself", kEager);
}

TEST(ReuseNeutral, WithoutPinsRunsAreHeldAgainstEachOther) {
  const CellId cell{"reuse_neutral", "default", "m"};
  const Changes no_pins = {{"  m: {from: source,", "  m: {from: source, no_pins: too large,"},
                           {"pins: pins", "pins: nowhere"}};
  const CellResult result = RunKind("none", cell, no_pins);
  EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
  EXPECT_EQ(result.figures["no_oracle"], "too large");
  EXPECT_EQ(result.figures["oracle_tokens_compared"], 0);
  EXPECT_EQ(result.figures["conversations"], 2);
  Red("stale_graph", cell, "fork", "the streams fork", no_pins);
}

TEST(Determinism, GreenWhereRepeatsAgree) {
  const CellId cell{"determinism", "default", "m"};
  const CellResult result = RunKind("none", cell);
  EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
  // Five ways: one more repeat, a fresh process, two counts of threads.
  EXPECT_EQ(result.figures["repeats_compared"], 5 * 4);
  EXPECT_EQ(result.figures["arms"].size(), 5u);
  EXPECT_EQ(result.figures["across_arms"]["cached prefix"]["bitwise"], true);
  EXPECT_GT(result.figures["oracle_tokens_compared"], 0);
}

TEST(Determinism, RedForARaceAndForThreadCountsThatCount) {
  const CellId cell{"determinism", "default", "m"};
  Red("racing", cell, "fork", "same token, other logits: whole chose token");
  Red("thread_bits", cell, "fork", "whole, with FG_THREADS=2, run 1 chose token");
}

TEST(Determinism, ArmsMayDifferInBitsAndNotInWhatIsSure) {
  const CellId cell{"determinism", "default", "m"};
  const CellResult result = RunKind("few_rows_differ", cell);
  EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
  const fg::Json& across = result.figures["across_arms"]["cached but for 7 tokens"];
  EXPECT_EQ(across["bitwise"], false);
  EXPECT_EQ(across["first_different"]["step"], 0);
  EXPECT_EQ(across["first_different"]["prompt"], "prefix");
  Red("few_rows_fork", cell, "arms", "8 rows a forward chose token");
}

TEST(Sanitizer, GreenOnClosingLinesThatCountNothing) {
  const CellResult result = RunKind("none", {"sanitizer", "default", "m"});
  EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
  EXPECT_EQ(result.figures["clean_runs"], 4);  // two tools, captured and eager
  EXPECT_EQ(result.figures["tools"]["racecheck-eager"]["errors"], 0);
  ASSERT_EQ(result.attachments.size(), 4u);
  EXPECT_EQ(result.attachments[0].name, "memcheck.log");
  EXPECT_EQ(result.attachments[0].bytes,
            "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n");
}

TEST(Sanitizer, EachEndHasItsOutcome) {
  const CellId cell{"sanitizer", "default", "m"};
  const auto with = [](const std::string& mode) {
    return Changes{{", clean, ", ", " + mode + ", "}};
  };
  Red("none", cell, "sanitizer", "racecheck: 2 errors; first: Race reported between Write access",
      with("errors"));
  const CellResult excuse = RunKind("none", cell, with("excuse"));
  EXPECT_EQ(excuse.outcome, Outcome::kUnsupported);
  EXPECT_EQ(excuse.reason,
            "memcheck: Error: Device not supported. Please refer to the documentation.");
  const CellResult silent = RunKind("none", cell, with("silent"));
  EXPECT_EQ(silent.outcome, Outcome::kError);
  EXPECT_NE(silent.reason.find("memcheck: no closing line with a count of errors"),
            std::string::npos)
      << silent.reason;
  Red("none", cell, "crash", "memcheck: engine 'head' died while it answered load", with("crash"));
  const CellResult missing = RunKind("none", cell, {{kTool, "no-such-tool"}});
  EXPECT_EQ(missing.outcome, Outcome::kUnsupported);
  EXPECT_EQ(missing.reason,
            "no-such-tool is neither on PATH nor in /nowhere; install it, or name its folder in "
            "evidence.sanitizer.search");
}

// A class on which no gate is built.
const Changes kElsewhere = {{"set: {on:", "scope: [elsewhere], set: {on:"}};

TEST(MemoryTwoWay, ADeviceIsHeldToItsDriver) {
  const CellId cell{"memory_two_way", "default", "m"};
  const CellResult result = RunKind("none", cell, kElsewhere);
  EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
  EXPECT_EQ(result.figures["on"]["device"]["difference"], 3 << 20);
  EXPECT_EQ(result.figures["relations_checked"], 2);
  Red("unbooked", cell, "unbooked",
      "on: the device's driver reports 387.00 MiB more in use than before load, the ledger books "
      "320.00 MiB; they may differ by 40.00 MiB",
      kElsewhere);
  Red("gate_holds", cell, "relation",
      "kv holds 20971520 bytes with nothing set and 26214400 with all gates off, but no gate is "
      "built on this class",
      kElsewhere);
}

}  // namespace
}  // namespace flipgate
