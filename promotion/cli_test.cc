// The commands through RunCli, with services that run nothing: messages, exit codes, and what is
// handed to the runner.
#include "promotion/cli.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "base/testing/temp_dir.h"
#include "gates/bundle_writer.h"
#include "gates/testing/example_bundle.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;
using fg::Json;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kProject =
    "version: 1\n"
    "engine: {paths: [src], defaults: d.yaml, program: engine}\n"
    "build: {compile: [make], engine: \"{build}/e\"}\n"
    "suite: {paths: [gates], matrix: m.yaml, ledger: l, proofs: p}\n";

class CliTest : public testing::Test {
 protected:
  CliTest() {
    fs::create_directories(root_);
    Write("flipgate.yaml", kProject);
    Write("m.yaml", kSmallMatrix);
    Write("f.gguf", "model");
    Write("engine", "#!/bin/sh\n");
    services_.kinds = {
        {"parity", "is the number right?", "shared faults", "float64", "as it is", nullptr},
        {"lattice", "any combination?", "cross terms", "pins", "as it is", nullptr}};
    services_.hashes = [](const Project&, const std::string&) -> fg::Result<BundleHashes> {
      return ExampleHeader().hashes;
    };
    services_.snapshot = [](const Project&, const std::string&,
                            const auto&) -> fg::Result<Snapshot> {
      return Snapshot{.program = "/snapshot/engine", .record = ExampleHeader().snapshot};
    };
    services_.run = [this](const RunOptions& options) { return FakeRun(options); };
  }
  ~CliTest() override { fs::remove_all(root_); }

  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(fg::WriteFileAtomic(root_ + "/" + name, text).ok());
  }

  // Writes a real bundle in which every selected cell ended as `outcome_`.
  fg::Result<RunSummary> FakeRun(const RunOptions& options) {
    seen_ = options;
    BundleHeader header = ExampleHeader();
    header.hashes = options.hashes;
    header.fault = options.fault;
    const std::vector<CellId> all = options.matrix.Cells(options.hardware_class);
    FG_ASSIGN_OR_RETURN(auto writer, BundleWriter::Create(options.out, header, options.matrix, all,
                                                          options.waivers));
    FG_ASSIGN_OR_RETURN(const auto meant,
                        SelectCells(options.matrix, options.hardware_class, options.selection));
    size_t done = 0;
    for (const CellId& id : all) {
      const bool fails =
          outcome_ == Outcome::kFail || (fail_under_a_fault_ && !options.fault.empty());
      CellResult result = fails ? CellResult::Fail("mismatch", "one bit") : Passed();
      if (std::find(meant.begin(), meant.end(), id) == meant.end())
        result = CellResult::Skipped("not selected");
      const bool failed = result.outcome == Outcome::kFail;
      FG_RETURN_IF_ERROR(writer->Add(
          id, result, failed ? std::vector<std::string>(3, "fail") : std::vector<std::string>{}));
      options.on_cell(id, result, ++done, all.size());
    }
    FG_ASSIGN_OR_RETURN(Bundle bundle, writer->Finish({}, 1.5));
    return RunSummary{.bundle = bundle, .bundle_path = options.out + "/bundle.json"};
  }

  // Runs `flipgate ARGUMENTS --project ROOT`.
  int Run(std::vector<std::string> arguments, std::vector<std::string> environment = {}) {
    arguments.insert(arguments.end(), {"--project", root_});
    return RunBare(arguments, environment);
  }
  int RunBare(const std::vector<std::string>& arguments,
              const std::vector<std::string>& environment = {}) {
    out_.str("");
    err_.str("");
    return RunCli(arguments, environment,
                  {.out = &out_, .err = &err_, .color = color_, .live = live_}, services_);
  }

  const std::string root_ = fg::ProcessTempDir() + "cli_test_" + std::to_string(::getpid());
  Services services_;
  RunOptions seen_;
  Outcome outcome_ = Outcome::kPass;
  bool fail_under_a_fault_ = false;
  bool color_ = false, live_ = false;
  std::ostringstream out_, err_;
};

TEST_F(CliTest, MisspeltCommandsAndOptionsGetTheNearest) {
  EXPECT_EQ(RunBare({"lits"}), 2);
  EXPECT_THAT(
      err_.str(),
      StartsWith("flipgate: unknown command 'lits'; did you mean 'list'?; commands are run, list"));
  EXPECT_EQ(Run({"run", "--cel", "parity"}), 2);
  EXPECT_EQ(err_.str(), "flipgate: run: unknown option '--cel'; did you mean '--cell'?\n");
  EXPECT_EQ(Run({"run", "--jobs", "many"}), 2);
  EXPECT_EQ(err_.str(), "flipgate: run: --jobs: Value many not in range 1 to 1024\n");
  EXPECT_EQ(RunBare({}), 2);
  EXPECT_EQ(err_.str(), "flipgate: A subcommand is required\n");
  EXPECT_EQ(out_.str(), "");
}

TEST_F(CliTest, HelpAndVersionAreNoErrors) {
  EXPECT_EQ(RunBare({"--help"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("whether a default may flip"));
  EXPECT_EQ(RunBare({"run", "--help"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("--without KIND"));
  EXPECT_EQ(RunBare({"--version"}), 0);
  EXPECT_THAT(out_.str(), StartsWith("flipgate 0."));
}

TEST_F(CliTest, AVariableOfTheCallersIsRefused) {
  EXPECT_EQ(Run({"run"}, {"PATH=/bin", "FG_MMQ=1"}), 2);
  EXPECT_EQ(err_.str(),
            "flipgate: FG_MMQ is set in this environment, but flipgate gives each engine its "
            "variables itself; unset it and "
            "run again: env -u FG_MMQ flipgate ...\n");
  EXPECT_EQ(Run({"list"}, {"FG_B=", "FG_A=1"}), 2);
  EXPECT_THAT(err_.str(), StartsWith("flipgate: FG_A, FG_B are set in this environment"));
  EXPECT_EQ(Run({"list"}, {"FG_CUBLASLT_PATH=/x", "XFG_A=1"}), 0);
}

TEST_F(CliTest, AProjectIsFoundOrSaidToBeMissing) {
  EXPECT_EQ(RunBare({"list", "--project", "/no/such"}), 2);
  EXPECT_EQ(err_.str(), "flipgate: --project /no/such: holds no flipgate.yaml\n");
  EXPECT_EQ(Run({"list", "--matrix", "/no/such.yaml"}), 2);
  EXPECT_EQ(err_.str(), "flipgate: /no/such.yaml: there is no such matrix\n");
  Write("m.yaml", "version: 1\n\tx: 2\n");
  EXPECT_EQ(Run({"list"}), 2);
  EXPECT_EQ(err_.str(), "flipgate: m.yaml:2:1: a tab; use spaces\n   x: 2\n  ^\n");
}

TEST_F(CliTest, ListShowsWhatThereIs) {
  EXPECT_EQ(Run({"list", "--cells"}), 0);
  EXPECT_EQ(out_.str(),
            "parity/default/a\nparity/default/b\nparity/FG_A/a\nparity/FG_A/b\nparity/FG_B/"
            "a\nlattice/default/a\n");
  EXPECT_EQ(Run({"list", "--cells", "--class", "gpu"}), 0);
  EXPECT_EQ(out_.str(), "parity/default/a\nparity/FG_A/a\nparity/FG_B/a\nlattice/default/a\n");
  EXPECT_EQ(Run({"list"}), 0);
  for (const char* part : {"  parity           is the number right?\n",
                           "  FG_B             same bits; needs FG_A\n", "Cells on class cpu (6)\n",
                           "  lattice/FG_A                     not applicable: its bits differ\n",
                           "  lattice/FG_B                     shared with default\n"}) {
    EXPECT_THAT(out_.str(), HasSubstr(part));
  }
  EXPECT_EQ(Run({"list", "--json"}), 0);
  const Json json = Json::parse(out_.str());
  EXPECT_EQ(json["cells"].size(), 6u);
  EXPECT_EQ(json["kinds"][0]["defends"], "shared faults");
  EXPECT_EQ(json["pairs"]["lattice"]["FG_B"]["shared_with"], "default");
}

// A class is known by the file of defaults; a project without one takes every class.
TEST_F(CliTest, AMisspeltClassGetsTheNearest) {
  EXPECT_EQ(Run({"list", "--cells", "--class", "anything"}), 0);
  Write("d.yaml", "version: 1\nclasses: [cpu, gpu, other]\ngates: {}\n");
  const std::vector<std::vector<std::string>> commands = {{"list"},      {"run"},    {"snapshot"},
                                                          {"selfcheck"}, {"doctor"}, {"demo"}};
  for (std::vector<std::string> command : commands) {
    const std::string name = command[0];
    command.insert(command.end(), {"--class", "gpv"});
    EXPECT_EQ(Run(command), 2) << name;
    EXPECT_EQ(
        err_.str(),
        "flipgate: --class gpv: unknown hardware class 'gpv'; did you mean 'gpu'?; the classes "
        "of d.yaml are cpu, gpu, other\n")
        << name;
  }
  EXPECT_EQ(Run({"list", "--cells", "--class", "gpu"}), 0);
  Write("d.yaml", "version: 1\ngates: {}\n");
  EXPECT_EQ(Run({"list"}), 2);
  EXPECT_THAT(err_.str(), StartsWith("flipgate: d.yaml:1:1: "));
}

TEST_F(CliTest, SelfcheckAndDemoWorkOnTheFaultsOfTheEngine) {
  services_.faults =
      [](const std::vector<std::string>& engine) -> fg::Result<std::vector<PlantedFault>> {
    EXPECT_EQ(engine[0].substr(engine[0].rfind('/')), "/engine");
    return std::vector<PlantedFault>{{"bent", "bends a bit", {"parity"}},
                                     {"torn", "tears", {"lattice"}}};
  };
  fail_under_a_fault_ = true;
  EXPECT_EQ(Run({"selfcheck", "--jobs", "1"}), 0) << err_.str() << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr("] killed     bent                   parity  "));
  EXPECT_THAT(out_.str(), HasSubstr("; lattice/default/a (mismatch)\n"));
  EXPECT_THAT(out_.str(),
              HasSubstr("passed: 2 of 2 faults killed by every kind that they list (2 pairs, 6 "
                        "control cells) on cpu in "));
  EXPECT_TRUE(fs::exists(root_ + "/out/selfcheck/selfcheck.json"));
  EXPECT_EQ(Run({"selfcheck", "--json", "--fault", "torn"}), 0);
  EXPECT_EQ(Json::parse(out_.str())["faults"].size(), 1u);
  EXPECT_EQ(Run({"selfcheck", "--fault", "tron"}), 2);
  EXPECT_EQ(err_.str(), "flipgate: --fault tron: unknown fault 'tron'; did you mean 'torn'?\n");
  EXPECT_EQ(Run({"demo"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("The planted fault: bent: bends a bit\n"));
  EXPECT_THAT(out_.str(), HasSubstr(": fail (mismatch)\n  why             one bit\n"));
  EXPECT_THAT(out_.str(), HasSubstr("are not built yet.\n"));
  EXPECT_FALSE(fs::exists(seen_.out));
  EXPECT_EQ(seen_.snapshot_program, "");
  EXPECT_EQ(Run({"demo", "--json"}), 0);
  EXPECT_EQ(Json::parse(out_.str())["category"], "mismatch");
}

TEST_F(CliTest, RunHandsOnWhatWasAsked) {
  EXPECT_EQ(Run({"run", "--cell", "parity/FG_A", "--cell", "lattice", "--without", "lattice",
                 "--jobs", "3", "--out", root_ + "/o", "--fault", "crash", "--quiet"}),
            3);
  EXPECT_EQ(seen_.selection.cells, (std::vector<std::string>{"parity/FG_A", "lattice"}));
  EXPECT_EQ(seen_.selection.without, std::vector<std::string>{"lattice"});
  EXPECT_EQ(seen_.jobs, 3);
  EXPECT_EQ(seen_.out, root_ + "/o");
  EXPECT_EQ(seen_.fault, "crash");
  EXPECT_EQ(seen_.hardware_class, "cpu");
  EXPECT_EQ(seen_.engine, std::vector<std::string>{root_ + "/engine"});
  EXPECT_EQ(seen_.snapshot_program, "/snapshot/engine");
  EXPECT_EQ(seen_.hashes.engine, std::string(64, 'a'));
  EXPECT_EQ(seen_.hashes.matrix.size(), 64u);
  EXPECT_EQ(Run({"run", "--quiet"}), 0);
  EXPECT_EQ(seen_.out, root_ + "/out/latest");
  EXPECT_GE(seen_.jobs, 1);
  EXPECT_EQ(Run({"run", "--quiet", "--class", "gpu"}), 0);
  EXPECT_EQ(seen_.out, root_ + "/out/latest/gpu");
}

TEST_F(CliTest, AClassThatIsDeclaredSaysHowManyCellsAtATime) {
  std::string text = kSmallMatrix;
  text.insert(std::string("version: 1\n").size(),
              "classes: {cpu: {probe: [probe]}, gpu: {probe: [probe, --device, gpu], cells: 1}}\n");
  Write("m.yaml", text);
  EXPECT_EQ(Run({"run", "--quiet", "--class", "gpu", "--jobs", "3", "--models", root_ + "/big"}),
            0);
  EXPECT_EQ(seen_.jobs, 1);
  EXPECT_EQ(seen_.models, root_ + "/big");
  EXPECT_EQ(Run({"run", "--quiet", "--jobs", "3"}), 0);
  EXPECT_EQ(seen_.jobs, 3);
  for (const char* command : {"run", "list", "selfcheck"}) {
    EXPECT_EQ(Run({command, "--class", "gpv"}), 2);
    EXPECT_EQ(err_.str(),
              "flipgate: the matrix declares no class 'gpv'; did you mean 'gpu'?; its classes are "
              "cpu, gpu\n");
  }
  EXPECT_EQ(Run({"explain", "parity", "--class", "gpu"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("default           required on a\n"));
  EXPECT_EQ(Run({"explain", "parity"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("default           required on a, b\n"));
  EXPECT_EQ(Run({"explain", "parity/default/b", "--class", "gpu"}), 2);
}

TEST_F(CliTest, RunSaysTheVerdictAndLeavesAnArchive) {
  EXPECT_EQ(Run({"run"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("[1/6] pass        parity/default/a 0.25 s\n"));
  EXPECT_THAT(out_.str(), testing::EndsWith("proven: 6 of 6 cells passed on cpu in 1.5 s; " +
                                            root_ + "/out/latest/bundle.json\n"));
  EXPECT_TRUE(fs::exists(root_ + "/out/latest/bundle.tar.gz"));
  outcome_ = Outcome::kFail;
  EXPECT_EQ(Run({"run"}), 1);
  EXPECT_THAT(out_.str(), HasSubstr("[1/6] fail        parity/default/a 0.00 s: one bit\n"));
  EXPECT_THAT(out_.str(), HasSubstr("  6 cells failed: parity/default/a,"));
  EXPECT_THAT(out_.str(), HasSubstr("refuted: 0 of 6 cells passed"));
  EXPECT_EQ(Run({"run", "--quiet", "--json"}), 1);
  const Json json = Json::parse(out_.str());
  EXPECT_EQ(json["verdict"], "refuted");
  EXPECT_EQ(json["exit"], 1);
  EXPECT_EQ(json["gate_verdicts"]["FG_B"], "refuted");
}

TEST_F(CliTest, APartProvesNothing) {
  EXPECT_EQ(Run({"run", "--cell", "parity/FG_A"}), 3);
  EXPECT_THAT(out_.str(), HasSubstr("unproven: 2 of 6 cells passed"));
}

TEST_F(CliTest, ATerminalGetsOneLineThatIsOverwritten) {
  color_ = live_ = true;
  EXPECT_EQ(Run({"run"}), 0);
  EXPECT_THAT(out_.str(), StartsWith("[1/6] parity/default/a\r\033[K[2/6] "));
  EXPECT_THAT(out_.str(), HasSubstr("\033[32mproven\033[0m: 6 of 6"));
}

TEST_F(CliTest, RunSaysWhatIsInTheWay) {
  EXPECT_EQ(Run({"run", "--cell", "parity/FG_C"}), 2);
  EXPECT_EQ(err_.str(),
            "flipgate: --cell parity/FG_C: unknown gate 'FG_C'; did you mean 'FG_A'?\n");
  EXPECT_EQ(Run({"run", "--engine", "/no/such"}), 2);
  EXPECT_EQ(err_.str(), "flipgate: /no/such: there is no such engine\n");
  EXPECT_EQ(Run({"run", "--subject", "other"}), 2);
  EXPECT_EQ(err_.str(), "flipgate: --subject other: the matrix names no such subject\n");
  fs::remove(root_ + "/engine");
  EXPECT_EQ(Run({"run"}), 2);
  EXPECT_EQ(err_.str(),
            "flipgate: engine: there is no such engine; build it with scripts/gate, or give "
            "--engine PATH\n");
  Write("engine", "");
  fs::remove(root_ + "/f.gguf");
  EXPECT_EQ(Run({"run"}), 2);
  EXPECT_EQ(err_.str(),
            "flipgate: f.gguf: there is no such file, but a model of the matrix is made from it\n");
  Write("f.gguf", "model");
  Write("waivers.yaml",
        "version: 1\nwaivers: [{cell: a/b/c, class: cpu, issue: i, owner: o, reason: r, expires: "
        "2026-01-01}]\n");
  EXPECT_EQ(Run({"run"}), 2);
  EXPECT_THAT(err_.str(),
              StartsWith("flipgate: waivers.yaml:2:18: 'a/b/c' is no cell of class cpu"));
}

TEST_F(CliTest, ErrorsOfTheHarnessAndOfTheConfigurationDiffer) {
  services_.snapshot = [](const Project&, const std::string&, const auto&) -> fg::Result<Snapshot> {
    return fg::Status(fg::ErrorKind::kUsage, "this clone is shallow");
  };
  EXPECT_EQ(Run({"run", "--json"}), 2);
  EXPECT_EQ(err_.str(), "flipgate: this clone is shallow\n");
  EXPECT_EQ(Json::parse(out_.str()), (Json{{"error", "this clone is shallow"}, {"exit", 2}}));
  services_.snapshot = [](const Project&, const std::string&, const auto&) -> fg::Result<Snapshot> {
    return Snapshot{};
  };
  services_.run = [](const RunOptions&) -> fg::Result<RunSummary> {
    return fg::Status(fg::ErrorKind::kIo, "/o: cannot make the folder: Permission denied");
  };
  EXPECT_EQ(Run({"run"}), 4);
  EXPECT_EQ(err_.str(), "flipgate: /o: cannot make the folder: Permission denied\n");
}

TEST_F(CliTest, WithoutARepositoryTheHashesAreMissingAndSaid) {
  services_.hashes = [](const Project&, const std::string&) -> fg::Result<BundleHashes> {
    return fg::Status(fg::ErrorKind::kIo, "not a git repository");
  };
  EXPECT_EQ(Run({"run"}), 0);
  EXPECT_THAT(out_.str(), StartsWith("no hashes of this state: not a git repository\n"));
  EXPECT_EQ(seen_.hashes.engine, "");
}

TEST_F(CliTest, TheReportsCommandRunsAfterwards) {
  Write("flipgate.yaml",
        std::string(kProject).replace(
            std::string(kProject).find("proofs: p"), 9,
            "proofs: p, report: [/bin/sh, -c, \"echo page > $0/report.html\", \"{out}\"]"));
  EXPECT_EQ(Run({"run"}), 0) << err_.str();
  EXPECT_EQ(*fg::ReadFile(root_ + "/out/latest/report.html"), "page\n");
  Write("flipgate.yaml", std::string(kProject).replace(
                             std::string(kProject).find("proofs: p"), 9,
                             "proofs: p, report: [/bin/sh, -c, \"echo no font >&2; exit 5\"]"));
  EXPECT_EQ(Run({"run"}), 4);
  EXPECT_EQ(err_.str(), "flipgate: the page was not rendered: /bin/sh: exit code 5: no font\n\n");
  EXPECT_THAT(out_.str(), HasSubstr("proven: 6 of 6"));
}

TEST_F(CliTest, AProvenThatWasEditedInIsDamage) {
  ASSERT_EQ(Run({"run", "--quiet"}), 0);
  const std::string file = root_ + "/out/latest/bundle.json";
  EXPECT_EQ(Run({"cell-status", "--bundle", file}), 0) << out_.str();
  Json bundle = Json::parse(*fg::ReadFile(file));
  bundle["cells"][0]["reason"] = "edited";
  ASSERT_TRUE(fg::WriteFileAtomic(file, bundle.dump(1)).ok());
  EXPECT_EQ(Run({"cell-status", "--bundle", file}), 1);
  EXPECT_THAT(out_.str(), StartsWith("verdict/cpu: damaged: "));
}

TEST_F(CliTest, VerifyNamesEachFailure) {
  ASSERT_EQ(Run({"run", "--quiet"}), 0);
  const std::string out = root_ + "/out/latest";
  EXPECT_EQ(Run({"verify", out, out + "/bundle.tar.gz"}), 0);
  EXPECT_EQ(out_.str(), out + ": intact (folder); proven on cpu, 6 cells\n" + out +
                            "/bundle.tar.gz: intact (archive); proven on cpu, 6 cells\n");
  std::string text = *fg::ReadFile(out + "/bundle.json");
  text.replace(text.find("\"verdict\": \"proven\""), 19, "\"verdict\": \"refuted\"");
  Write("out/latest/bundle.json", text);
  EXPECT_EQ(Run({"verify", out}), 1);
  EXPECT_THAT(out_.str(), StartsWith(out + ": damaged\n  "));
  EXPECT_THAT(out_.str(), HasSubstr("  content_sha256: is not the sum of the content\n"));
  EXPECT_EQ(Run({"verify", out, "--json"}), 1);
  EXPECT_EQ(Json::parse(out_.str())[0]["intact"], false);
  EXPECT_EQ(Run({"verify", "/no/such"}), 2);
  EXPECT_EQ(err_.str(), "flipgate: /no/such: there is no such bundle\n");
  // A folder without one is no bundle either, for any command that reads one.
  const std::string empty = fg::ProcessTempDir() + "cli_test_empty";
  std::filesystem::create_directories(empty);
  const std::vector<std::vector<std::string>> commands = {
      {"verify", empty}, {"pack", empty}, {"explain", "parity", "--bundle", empty}};
  for (const auto& command : commands) {
    EXPECT_EQ(Run(command), 2) << command[0];
    EXPECT_EQ(err_.str(), "flipgate: " + empty + ": there is no such bundle\n") << command[0];
  }
}

TEST_F(CliTest, CellStatusGivesExitCodes) {
  const auto status = [&](std::vector<std::string> cell) {
    cell.insert(cell.begin(), {"cell-status", "--bundle", root_});
    return Run(cell);
  };
  Bundle bundle = ExampleBundle();
  Fail(bundle, "parity/FG_A/a", "mismatch", "one bit");
  Fail(bundle, "parity/FG_A/b", "mismatch", "two bits");
  Skip(bundle, "lattice/default/a", "no snapshot");
  bundle.waivers = {{.cell = {"parity", "FG_A", "b"},
                     .hardware_class = "cpu",
                     .issue = "#7",
                     .owner = "ann",
                     .reason = "known",
                     .expires = "2026-12-01"}};
  Write("bundle.json", BundleToJson(bundle).dump());
  EXPECT_EQ(status({"parity/default/a"}), 0);
  EXPECT_EQ(out_.str(), "parity/default/a: pass\n");
  EXPECT_EQ(status({"parity/FG_A/a"}), 1);
  EXPECT_EQ(out_.str(), "parity/FG_A/a: fail: one bit\n");
  EXPECT_EQ(status({"parity/FG_A/b"}), 77);
  EXPECT_EQ(out_.str(), "parity/FG_A/b: fail (waived): two bits\n");
  EXPECT_EQ(status({"lattice/default/a"}), 77);
  EXPECT_EQ(status({"parity/FG_X/a"}), 1);
  EXPECT_EQ(out_.str(), "parity/FG_X/a: no result: the bundle has no such cell\n");
  EXPECT_EQ(status({"parity"}), 2);
  EXPECT_EQ(status({}), 1);
  EXPECT_THAT(out_.str(), StartsWith("verdict/cpu: refuted: 1 cell failed: parity/FG_A/a;"));
  // Proven by its words, but without the files that it names: no proof.
  Write("bundle.json", BundleToJson(ExampleBundle()).dump());
  EXPECT_EQ(status({}), 1);
  EXPECT_THAT(out_.str(), StartsWith("verdict/cpu: damaged: "));
  Bundle skipped = ExampleBundle();
  for (const BundleCell& cell : ExampleBundle().cells) Skip(skipped, cell.id.Text(), "no GPU");
  Write("bundle.json", BundleToJson(skipped).dump());
  EXPECT_EQ(status({}), 3);
  EXPECT_EQ(RunBare({"cell-status", "--bundle", "/no/such.json", "parity/default/a"}), 4);
}

TEST_F(CliTest, ExplainTellsMeaningAndEnding) {
  EXPECT_EQ(Run({"explain", "lattice"}), 0);
  EXPECT_THAT(out_.str(), StartsWith("lattice: any combination?\n  defends against   cross terms\n "
                                     " independent arm   pins\n"));
  EXPECT_THAT(out_.str(), HasSubstr("  FG_A              not applicable: its bits differ\n"));
  EXPECT_THAT(out_.str(), HasSubstr("Not run yet"));
  outcome_ = Outcome::kFail;
  ASSERT_EQ(Run({"run", "--quiet"}), 1);
  EXPECT_EQ(Run({"explain", "parity/FG_A/b"}), 0);
  EXPECT_THAT(out_.str(),
              HasSubstr("\nparity/FG_A/b: fail, 0.00 s\n  why       mismatch: one bit\n"));
  EXPECT_THAT(out_.str(), testing::Not(HasSubstr("parity/FG_A/a: fail")));
  EXPECT_EQ(Run({"explain", "parity/FG_A", "--json"}), 0);
  EXPECT_EQ(Json::parse(out_.str())["endings"].size(), 2u);
  EXPECT_EQ(Run({"explain", "partiy"}), 2);
  EXPECT_EQ(err_.str(), "flipgate: unknown kind of evidence 'partiy'; did you mean 'parity'?\n");
  EXPECT_EQ(Run({"explain", "parity/FG_X"}), 2);
  EXPECT_EQ(err_.str(), "flipgate: unknown gate 'FG_X'; did you mean 'FG_A'?\n");
  EXPECT_EQ(Run({"explain", "parity/FG_B/b"}), 2);
  EXPECT_EQ(err_.str(), "flipgate: parity/FG_B has no model 'b'; did you mean 'a'?\n");
  EXPECT_EQ(Run({"explain", "parity", "--bundle", "/no/such"}), 2);
}

TEST_F(CliTest, PackTakesTheBundleInAFolder) {
  ASSERT_EQ(Run({"run", "--quiet"}), 0);
  fs::remove(root_ + "/out/latest/bundle.tar.gz");
  EXPECT_EQ(Run({"pack", root_ + "/out/latest"}), 0);
  EXPECT_EQ(out_.str(), root_ + "/out/latest/bundle.tar.gz\n");
  EXPECT_TRUE(fs::exists(root_ + "/out/latest/bundle.tar.gz"));
}

}  // namespace
}  // namespace flipgate
