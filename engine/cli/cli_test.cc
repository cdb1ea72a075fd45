// The program as a user runs it: text out, text on standard error, exit codes.
#include "engine/cli/cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "base/process.h"
#include "base/sha256.h"
#include "engine/build_info.h"
#include "engine/cli/cli_testing.h"
#include "engine/faults.h"
#include "engine/gates_defaults.h"
#include "engine/testing/tiny_model.h"

namespace fg {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::Ran;
using ::testing::StartsWith;

Ran RunEngine(const std::vector<std::string>& arguments, std::vector<std::string> environment = {},
              const std::string& input = "") {
  return testing::RunProgram(std::string(FG_BINARY_DIR) + "/bin/fg-engine", arguments,
                             std::move(environment), input);
}

// A small model, written once.
const std::string& Model() {
  static const std::string path = testing::WriteTinyModel({});
  return path;
}

TEST(Cli, NoCommandAndUnknownOnesAreUsage) {
  EXPECT_EQ(RunEngine({}).code, 2);
  EXPECT_EQ(RunEngine({}).err, "fg-engine: A subcommand is required (see fg-engine --help)\n");
  const Ran misspelt = RunEngine({"qantize", "a"});
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_EQ(misspelt.out, "");
  EXPECT_EQ(misspelt.err, "fg-engine: unknown command 'qantize'; did you mean 'quantize'?\n");
  EXPECT_EQ(RunEngine({"info"}).code, 2);
  EXPECT_EQ(RunEngine({"info"}).err, "fg-engine: MODEL is required (see fg-engine --help)\n");
  EXPECT_EQ(RunEngine({"gates", "--jsn"}).code, 2);
  EXPECT_EQ(RunEngine({"run", "-m", "m", "-p", "x", "-n", "-1"}).code, 2);
}

TEST(Cli, HelpAndVersionAreAnswers) {
  const Ran help = RunEngine({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* word :
       {"run", "bench", "info", "quantize", "synth", "gates", "faults", "probe"}) {
    EXPECT_THAT(help.out, HasSubstr(word));
  }
  EXPECT_THAT(RunEngine({"run", "--help"}).out, HasSubstr("--top-p"));
  const Ran version = RunEngine({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_THAT(version.out, MatchesRegex("fg-engine [0-9.]+ \\([^)]+\\)\n"));
}

TEST(Cli, APeculiarEnvironmentIsSaidByEveryCommand) {
  const std::string said =
      "fg-engine: FG_MQM is no gate and no setting; it does nothing; did you mean 'FG_MMQ'?\n";
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"gates"}, {"faults"}, {"probe"}, {"info", Model()}}) {
    const Ran ran = RunEngine(command, {"FG_MQM=1"});
    EXPECT_EQ(ran.code, 0) << command[0];
    EXPECT_EQ(ran.err, said) << command[0];
  }
}

TEST(Cli, AnEnvironmentThatCannotBeMeantIsUsage) {
  const auto expect = [](const std::string& variable, const std::string& message) {
    const Ran ran = RunEngine({"probe"}, {variable}, "{\"id\": 1, \"request\": \"hello\"}\n");
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(ran.err, "fg-engine: " + message + "\n");
  };
  expect("FG_CPU_LEVEL=avx9",
         "FG_CPU_LEVEL='avx9' is no level (plain, avx2, avx512); did you mean 'avx2'?");
  expect("FG_THREADS=0", "FG_THREADS='0' must be a whole number from 1 to 256");
  expect("FG_FAULT=crahs", "FG_FAULT: unknown fault 'crahs'; did you mean 'crash'?");
  const Ran strict = RunEngine({"gates"}, {"FG_STRICT_ENV=1", "FG_MMQ=off"});
  EXPECT_EQ(strict.code, 2);
  EXPECT_EQ(strict.err,
            "fg-engine: FG_STRICT_ENV=1 refuses what is peculiar: FG_MMQ='off' turned the gate ON: "
            "any value but 0 does; set FG_MMQ=0 to turn it off\n");
}

TEST(Cli, AModelThatIsMissingOrCutIsSaidWithItsPath) {
  const std::string whole = *ReadFile(Model());
  const std::string cut = Model() + ".cut";
  ASSERT_TRUE(WriteFileAtomic(cut, whole.substr(0, whole.size() - 1)).ok());
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"run", "-p", "x", "-m"}, {"bench", "-m"}, {"info"}}) {
    auto arguments = command;
    arguments.push_back("/proc/none/model.gguf");
    const Ran missing = RunEngine(arguments);
    EXPECT_EQ(missing.code, 2);
    EXPECT_EQ(missing.out, "");
    EXPECT_EQ(missing.err, "fg-engine: /proc/none/model.gguf: No such file or directory\n");
    arguments.back() = cut;
    const Ran damaged = RunEngine(arguments);
    EXPECT_EQ(damaged.code, 2);
    EXPECT_EQ(damaged.out, "");
    EXPECT_THAT(damaged.err, StartsWith("fg-engine: " + cut + ": tensor 'output.weight'"));
  }
}

TEST(Cli, RunStreamsTextAndSaysStatsOnStandardErrorAlone) {
  const std::vector<std::string> command = {"run", "-m", Model(), "-p", "hello", "-n", "8"};
  const Ran plain = RunEngine(command);
  EXPECT_EQ(plain.code, 0);
  EXPECT_EQ(plain.err, "");
  EXPECT_EQ(plain.out.back(), '\n');
  EXPECT_EQ(RunEngine(command).out, plain.out);  // greedy
  auto with_stats = command;
  with_stats.push_back("--stats");
  const Ran stats = RunEngine(with_stats);
  EXPECT_EQ(stats.out, plain.out);
  EXPECT_THAT(stats.err, HasSubstr("prompt 5 tokens"));
  EXPECT_THAT(stats.err, HasSubstr("generated 8, 7 after the first"));
  EXPECT_THAT(stats.err, HasSubstr("ended by length"));
  EXPECT_THAT(stats.err, HasSubstr("memory weights"));
  const Ran none = RunEngine({"run", "-m", Model(), "-p", "hello", "-n", "0"});
  EXPECT_EQ(none.code, 0);
  EXPECT_EQ(none.out, "\n");
}

TEST(Cli, SamplingGoesByTheSeed) {
  const auto sampled = [](const std::string& seed) {
    return RunEngine({"run", "-m", Model(), "-p", "hello", "-n", "16", "--temp", "1.5", "--top-k",
                      "50", "--top-p", "0.9", "--seed", seed})
        .out;
  };
  EXPECT_EQ(sampled("3"), sampled("3"));
  EXPECT_NE(sampled("3"), sampled("4"));
  const Ran refused = RunEngine({"run", "-m", Model(), "-p", "x", "--top-p", "1.5"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("top_p"));
}

TEST(Cli, RunNeedsAPromptThatFits) {
  const Ran none = RunEngine({"run", "-m", Model()});
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.err,
            "fg-engine: run needs a prompt: -p TEXT, or -i for lines of standard input\n");
  const Ran large = RunEngine({"run", "-m", Model(), "-p", std::string(200, 'x')});
  EXPECT_EQ(large.code, 2);
  EXPECT_EQ(large.out, "");
  EXPECT_THAT(large.err, HasSubstr("96"));  // the model's context
  const Ran full = RunEngine({"run", "-m", Model(), "-p", std::string(90, 'x'), "-n", "50"});
  EXPECT_EQ(full.code, 0);
  EXPECT_EQ(full.err, "fg-engine: the context of 96 positions is full\n");
}

TEST(Cli, InteractiveTurnsAreOneSession) {
  const std::vector<std::string> command = {"run", "-m", Model(), "-i", "-n", "4", "--stats"};
  const Ran turns = RunEngine(command, {}, "one\n\r\n\ntwo\r\nthree");
  EXPECT_EQ(turns.code, 0);
  EXPECT_THAT(turns.err, HasSubstr("prompt 3 tokens"));
  // The last token of a turn is fed with the next prompt.
  EXPECT_THAT(turns.err, HasSubstr("prompt 4 tokens"));
  EXPECT_THAT(turns.err, HasSubstr("prompt 6 tokens"));
  const Ran first = RunEngine({"run", "-m", Model(), "-p", "one", "-n", "4"});
  EXPECT_THAT(turns.out, StartsWith(first.out));
  EXPECT_EQ(RunEngine(command, {}, "").out, "");
}

TEST(Cli, BenchPrintsATableCsvOrJson) {
  const std::vector<std::string> command = {"bench", "-m", Model(), "-p", "20", "-n", "3",
                                            "-d",    "8",  "-r",    "2",  "-t", "1"};
  const auto with = [&](std::initializer_list<const char*> more) {
    auto arguments = command;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunEngine(arguments, {"FG_THREADS=3"});
  };
  const Ran table = with({});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, StartsWith("| model  "));
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 2 + 2);
  EXPECT_THAT(table.out, HasSubstr(" pp20@d8 |"));
  const Ran csv = with({"-o", "csv"});
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 1 + 2);
  EXPECT_EQ(Json::parse(with({"--json"}).out).size(), 2u);
}

TEST(Cli, BenchRunsEveryCombination) {
  const Ran ran = RunEngine({"bench", "-m", Model(), "-p", "20,16", "-n", "3", "-d", "0,8", "-r",
                             "3", "-t", "1,2", "-o", "json"},
                            {"FG_THREADS=3"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Json rows = Json::parse(ran.out);
  ASSERT_EQ(rows.size(), 12u);
  const std::vector<std::string> tests = {"pp20", "pp16", "tg3", "pp20@d8", "pp16@d8", "tg3@d8"};
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i]["test"], tests[i % 6]);
    EXPECT_EQ(rows[i]["n_threads"], i < 6 ? 1 : 2);
    EXPECT_EQ(rows[i]["samples_ts"].size(), 3u);
    EXPECT_EQ(rows[i]["settings"]["FG_THREADS"], i < 6 ? "1" : "2");
    for (const char* member : {"avg_ts", "ceiling", "share", "macs", "scratch_bytes"}) {
      EXPECT_GT(rows[i][member], 0) << member;
    }
  }
  EXPECT_EQ(rows[0]["model_type"], "qwen2 0.1M f32");
  EXPECT_EQ(rows[0]["model_filename"], Model());
}

TEST(Cli, BenchRefusesWhatCannotBeMeasured) {
  const auto error = [](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"bench", "-m", Model()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = RunEngine(arguments);
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.out, "");
    return ran.err;
  };
  // Before the test that fits is measured.
  EXPECT_EQ(error({"-p", "8,97", "-n", "0"}),
            "fg-engine: 97 tokens after 0 do not fit the context of 96 positions\n");
  EXPECT_EQ(error({"-p", "0", "-n", "3", "-d", "95"}),
            "fg-engine: 3 tokens after 95 do not fit the context of 96 positions\n");
  EXPECT_EQ(error({"-p", "0", "-n", "0"}), "fg-engine: bench needs a test: -p or -n above 0\n");
  EXPECT_EQ(error({"-o", "sql"}), "fg-engine: unknown output 'sql'; known: md, csv, json\n");
  EXPECT_THAT(error({"-t", "0"}), HasSubstr("Value 0 not in range 1 to 256"));
  EXPECT_THAT(error({"-p", "1,x"}), HasSubstr("--n-prompt"));
  EXPECT_THAT(error({"-r", "0"}), HasSubstr("--repetitions"));
  EXPECT_THAT(error({"-m", "/proc/none/model.gguf"}),
              StartsWith("fg-engine: /proc/none/model.gguf: "));
}

TEST(Cli, ReadersThatCannotBeMeantAreSaidBeforeAModelIsRead) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"run", "-p", "x", "-m", "/proc/none"}, {"bench", "-m", "/proc/none"}, {"probe"}}) {
    const Ran ran = RunEngine(command, {"FG_TRACE=/proc/none/t.json"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.err,
              "fg-engine: FG_TRACE='/proc/none/t.json': there is no folder '/proc/none'\n");
  }
  // A command that runs no model has no use for them.
  EXPECT_EQ(RunEngine({"gates"}, {"FG_TRACE=/proc/none/t.json"}).code, 0);
  EXPECT_EQ(RunEngine({"gates"}, {"FG_LIVE=70000"}).err,
            "fg-engine: FG_LIVE='70000' must be a port, a whole number from 0 to 65535; 0 picks a "
            "free one\n");
}

TEST(Cli, ReadersFollowARun) {
  const std::string trace = Model() + ".trace.json";
  const Ran plain = RunEngine({"run", "-m", Model(), "-p", "hello", "-n", "3"});
  const Ran traced = RunEngine({"run", "-m", Model(), "-p", "hello", "-n", "3"},
                               {"FG_TRACE=" + trace, "FG_LIVE=0"});
  EXPECT_EQ(traced.code, 0) << traced.err;
  EXPECT_EQ(traced.out, plain.out);
  EXPECT_THAT(traced.err, MatchesRegex("fg-engine: FG_LIVE: http://127.0.0.1:[0-9]+/\n"));
  EXPECT_EQ(Json::parse(*ReadFile(trace)).back()["name"], "forward 2");
}

TEST(Cli, SynthWritesAModelThatRuns) {
  const std::string output = Model() + ".synth";
  const Ran ran = RunEngine({"synth", "narrow", output, "--mix", "q4_0", "--layers", "3"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "fg-engine: 1 tensor: q6_K needs rows of 256; q8_0 used\n");
  EXPECT_THAT(ran.out, StartsWith(output + ": "));
  EXPECT_THAT(ran.out, HasSubstr(" bytes, 3 layers, "));
  const Ran text = RunEngine({"run", "-m", output, "-p", "hello there, everybody", "-n", "8"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_GT(text.out.size(), 8u);
  const Json json = Json::parse(
      RunEngine({"synth", "narrow", output, "--mix", "f16", "--seed", "7", "--json"}).out);
  EXPECT_EQ(json["output_bytes"], std::filesystem::file_size(output));
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json["layers"], 2);
  EXPECT_EQ(json["tensors"], Json::parse(R"({"f16": 16, "f32": 11})"));
  const Ran unknown = RunEngine({"synth", "narow", output, "--mix", "q4_0"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_EQ(unknown.err,
            "fg-engine: unknown shape 'narow'; known: qwen2.5-0.5b, qwen2.5-1.5b, qwen2.5-7b, "
            "narrow; did you mean 'narrow'?\n");
  EXPECT_EQ(RunEngine({"synth", "narrow", output}).err,
            "fg-engine: --mix is required (see fg-engine --help)\n");
}

TEST(Cli, InfoSaysKeysTypesAndTensors) {
  const Ran text = RunEngine({"info", Model()});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, HasSubstr("general.architecture"));
  EXPECT_THAT(text.out, HasSubstr("'qwen2'"));
  EXPECT_THAT(text.out, HasSubstr("tokenizer.ggml.tokens"));
  EXPECT_THAT(text.out, HasSubstr("array of 261"));
  EXPECT_THAT(text.out, HasSubstr(" 1e-06\n"));  // as an f32 reads
  EXPECT_THAT(text.out, HasSubstr("blk.1.ffn_down.weight"));
  const Json json = Json::parse(RunEngine({"info", Model(), "--json"}).out);
  EXPECT_EQ(json["keys"]["general.name"], "tiny");
  EXPECT_EQ(json["keys"]["qwen2.block_count"], 2);
  EXPECT_EQ(json["keys"]["tokenizer.ggml.tokens"], Json::parse(R"({"array": 261})"));
  EXPECT_EQ(json["types"]["f32"]["tensors"], json["tensors"].size());
  EXPECT_EQ(json["bytes"], std::filesystem::file_size(Model()));
}

TEST(Cli, QuantizeWritesAModelThatLoads) {
  const std::string output = Model() + ".f16";
  const Ran ran = RunEngine({"quantize", Model(), output, "f16"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, StartsWith(output + ": "));
  EXPECT_EQ(RunEngine({"run", "-m", output, "-p", "x", "-n", "1"}).code, 0);
  const Json json = Json::parse(RunEngine({"quantize", Model(), output, "f16", "--json"}).out);
  EXPECT_EQ(json["output_bytes"], std::filesystem::file_size(output));
  EXPECT_GT(json["tensors"]["f16"], 0);
  const Ran unknown = RunEngine({"quantize", Model(), output, "q4_km"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'q4_k_m'?"));
  const Ran unwritable = RunEngine({"quantize", Model(), "/proc/none/out.gguf", "f16"});
  EXPECT_EQ(unwritable.code, 2);
  EXPECT_THAT(unwritable.err, StartsWith("fg-engine: /proc/none/out.gguf: "));
}

TEST(Cli, GatesPrintsTheResolvedTableOfAClass) {
  const Json json = Json::parse(
      RunEngine({"gates", "--json", "--class", "sm_90"}, {"FG_MMQ=1", "FG_MMQ_RAW=0"}).out);
  EXPECT_EQ(json["class"], "sm_90");
  EXPECT_EQ(json["defaults_hash"], DefaultsHash(DefaultsOf("sm_90")));
  ASSERT_EQ(json["gates"].size(), static_cast<size_t>(kGates));
  EXPECT_EQ(json["gates"][0]["name"], "FG_MMQ");
  EXPECT_EQ(json["gates"][0]["value"], "1");
  EXPECT_EQ(json["gates"][0]["env"], "1");
  EXPECT_EQ(json["gates"][1]["value"], "0");
  for (size_t i = 0; i < json["gates"].size(); ++i) {
    const GateDefault by_default = DefaultsOf("sm_90").gates[i];
    EXPECT_EQ(json["gates"][i]["stage"], GateStageName(by_default.stage));
    EXPECT_EQ(json["gates"][i]["default"],
              by_default.stage == GateStage::kPromoted ? by_default.value : "0");
  }
  const Ran text = RunEngine({"gates"}, {"FG_MMQ_RAW_NB=1"});
  EXPECT_THAT(text.out, StartsWith("class cpu\n"));
  EXPECT_THAT(text.out, HasSubstr("FG_MMQ_RAW_NB"));
  EXPECT_THAT(text.out, HasSubstr("FG_MMQ, FG_MMQ_RAW\n"));
  const Ran unknown = RunEngine({"gates", "--class", "sm_121"});
  EXPECT_EQ(unknown.code, 0);
  EXPECT_EQ(unknown.err,
            "fg-engine: promotion/defaults.yaml names no class 'sm_121'; every gate is opt_in\n");
}

TEST(Cli, FaultsListsThemAll) {
  const Json json = Json::parse(RunEngine({"faults", "--json"}).out);
  ASSERT_EQ(json.size(), AllFaults().size());
  EXPECT_EQ(json[0]["name"], "nibbles_swapped");
  EXPECT_EQ(json[0]["kinds"], Json::parse(R"(["parity", "greedy_contrast", "lattice"])"));
  const Ran text = RunEngine({"faults"});
  for (const FaultInfo& info : AllFaults()) EXPECT_THAT(text.out, HasSubstr(info.name));
}

TEST(Cli, OutputThatCannotBeWrittenIsTheMachines) {
  ProcessSpec spec;
  spec.argv = {"/bin/sh", "-c",
               "exec " + std::string(FG_BINARY_DIR) + "/bin/fg-engine faults > /dev/full"};
  const auto ran = RunProcess(spec);
  ASSERT_TRUE(ran.ok());
  EXPECT_EQ(ran->exit.code, 4);
  EXPECT_EQ(ran->err, "fg-engine: standard output: No space left on device\n");
}

TEST(Cli, TheProbeSaysWhichProgramAnswers) {
  const Ran ran =
      RunEngine({"probe"}, {"FG_FAULT=nan_logits"},
                "{\"id\": 1, \"request\": \"hello\"}\n{\"id\": 2, \"request\": \"quit\"}\n");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.err, "");
  const Json hello = Json::parse(ran.out.substr(0, ran.out.find('\n')));
  EXPECT_EQ(hello["build"]["sha256"], *Sha256File(std::string(FG_BINARY_DIR) + "/bin/fg-engine"));
  EXPECT_EQ(hello["faults"], Json::array({"nan_logits"}));
}

TEST(Cli, TheProbeSkipsALineBeyondTheLimitAndGoesOn) {
  const Ran ran = RunEngine(
      {"probe"}, {}, std::string((64 << 20) + 1, ' ') + "\n{\"id\": 2, \"request\": \"quit\"}\n");
  EXPECT_EQ(ran.code, 0);
  const Json refused = Json::parse(ran.out.substr(0, ran.out.find('\n')));
  EXPECT_EQ(refused["error"]["message"], "request: the line is longer than 64 MiB");
  EXPECT_THAT(ran.out, HasSubstr("{\"id\":2,\"ok\":true}"));
}

}  // namespace
}  // namespace fg
