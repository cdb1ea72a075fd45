// The self-check with a run that writes real bundles but starts no engine: outcomes are scripted
// per fault and cell.
#include "promotion/selfcheck.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>

#include "base/file.h"
#include "base/testing/temp_dir.h"
#include "gates/bundle_writer.h"
#include "gates/testing/example_bundle.h"
#include "promotion/selfcheck_report.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;
using fg::Json;
using testing::ElementsAre;
using testing::HasSubstr;

class SelfCheckTest : public testing::Test {
 protected:
  SelfCheckTest() {
    options_.base.matrix = SmallMatrix();
    options_.base.hardware_class = "cpu";
    options_.all_kinds = SmallKinds();
    options_.out = root_;
    options_.faults = {{"bent", "bends a bit", {"parity"}}, {"torn", "tears", {"lattice"}}};
    options_.jobs = 2;
    options_.run = [this](const RunOptions& options) { return FakeRun(options); };
    // What the two faults break, and that model b is the cheaper one.
    script_ = [](const std::string& fault, const CellId& cell) {
      CellResult result = Passed();
      result.seconds = cell.model == "b" ? 0.1 : 0.5;
      if (fault == "bent" && cell.kind == "parity")
        return CellResult::Fail("mismatch", "one bit of " + cell.Text());
      if (fault == "torn" && cell.kind == "lattice") return CellResult::Fail("fork", "token 7");
      return result;
    };
  }
  ~SelfCheckTest() override { fs::remove_all(root_); }

  fg::Result<RunSummary> FakeRun(const RunOptions& options) {
    BundleHeader header = ExampleHeader();
    header.fault = options.fault;
    const std::vector<CellId> all = options.matrix.Cells("cpu");
    FG_ASSIGN_OR_RETURN(auto writer,
                        BundleWriter::Create(options.out, header, options.matrix, all, {}));
    FG_ASSIGN_OR_RETURN(const auto meant, SelectCells(options.matrix, "cpu", options.selection));
    std::vector<CellId> order = options.order;
    for (const CellId& cell : all) {
      if (std::find(order.begin(), order.end(), cell) == order.end()) order.push_back(cell);
    }
    for (const CellId& cell : order) {
      const bool selected = std::find(meant.begin(), meant.end(), cell) != meant.end();
      const std::string left_out = !selected           ? "not selected"
                                   : options.leave_out ? options.leave_out(cell)
                                                       : "";
      const CellResult result =
          left_out.empty() ? script_(options.fault, cell) : CellResult::Skipped(left_out);
      const bool failed = result.outcome == Outcome::kFail;
      FG_RETURN_IF_ERROR(writer->Add(
          cell, result, std::vector<std::string>(failed ? options.attempts : 0, "fail")));
      if (options.on_cell && selected) options.on_cell(cell, result, 1, all.size());
    }
    FG_ASSIGN_OR_RETURN(Bundle bundle, writer->Finish({}, 1.0));
    return RunSummary{.bundle = bundle, .bundle_path = options.out + "/bundle.json"};
  }

  SelfCheckReport Check() {
    auto report = RunSelfCheck(options_);
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? *report : SelfCheckReport{};
  }
  Json Written() { return Json::parse(*fg::ReadFile(root_ + "/selfcheck.json")); }

  const std::string root_ = fg::ProcessTempDir() + "selfcheck_test_" + std::to_string(::getpid());
  SelfCheckOptions options_;
  std::function<CellResult(const std::string& fault, const CellId& cell)> script_;
};

TEST_F(SelfCheckTest, EachFaultIsKilledByItsKind) {
  const SelfCheckReport report = Check();
  ASSERT_EQ(report.trials.size(), 2u);
  EXPECT_EQ(report.trials[0].state, TrialState::kKilled);
  // The cheaper model first, and no cell after the kill.
  EXPECT_THAT(report.trials[0].ran, ElementsAre("parity/default/b"));
  EXPECT_EQ(report.trials[0].cell, "parity/default/b");
  EXPECT_EQ(report.trials[0].category, "mismatch");
  EXPECT_EQ(report.trials[0].reason, "one bit of parity/default/b");
  EXPECT_EQ(report.trials[1].cell, "lattice/default/a");
  EXPECT_EQ(report.control_cells, 6u);
  EXPECT_EQ(Verdict(report).exit, 0);
  EXPECT_EQ(Written()["verdict"], "passed");
  EXPECT_EQ(Written()["complete"], true);
  EXPECT_EQ(Written()["faults"][0]["state"], "killed");
  EXPECT_EQ(Written()["hashes"]["engine"], std::string(64, 'a'));
  // A run with a fault proves nothing, whatever its cells say.
  const auto bundle = LoadBundle(root_ + "/faults/bent/parity");
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  EXPECT_EQ(bundle->header.fault, "bent");
  EXPECT_NE(bundle->Verdict().verdict, Verdict::kProven);
}

TEST_F(SelfCheckTest, AFaultThatNothingSeesSurvives) {
  options_.faults.push_back({"mild", "does nothing", {"parity"}});
  const SelfCheckReport report = Check();
  EXPECT_EQ(report.StateOf("mild"), TrialState::kSurvived);
  EXPECT_EQ(Verdict(report).exit, 1);
  EXPECT_THAT(Verdict(report).reasons, ElementsAre("mild survived parity: 5 cells passed"));
  // The other kind was asked as well, and said nothing either.
  EXPECT_EQ(report.trials.back().kind, "lattice");
  EXPECT_FALSE(report.trials.back().claimed);
}

TEST_F(SelfCheckTest, AKillByAnotherKindIsToldApart) {
  options_.faults[0].kinds = {"lattice"};  // but parity is what sees it
  options_.faults.push_back({"third", "tears too", {"parity", "lattice"}});
  script_ = [](const std::string& fault, const CellId& cell) {
    if (!fault.empty() && fault != "torn" && cell.kind == "parity")
      return CellResult::Fail("mismatch", "one bit");
    if (fault == "torn" && cell.kind == "lattice") return CellResult::Fail("fork", "token 7");
    return Passed();
  };
  const SelfCheckReport report = Check();
  EXPECT_EQ(report.StateOf("bent"), TrialState::kByAnother);
  EXPECT_EQ(report.StateOf("third"), TrialState::kByAnother);
  EXPECT_EQ(report.StateOf("torn"), TrialState::kKilled);
  EXPECT_THAT(
      Verdict(report).reasons,
      ElementsAre("bent was killed by another kind only, not by lattice, which claims it",
                  "third was killed by another kind only, not by lattice, which claims it"));
  EXPECT_EQ(Verdict(report).exit, 1);
  EXPECT_EQ(Written()["faults"][0]["state"], "by_another");
}

TEST_F(SelfCheckTest, ARedControlJudgesNothing) {
  script_ = [](const std::string&, const CellId& cell) {
    return cell.Text() == "parity/FG_A/a" ? CellResult::Fail("mismatch", "one bit") : Passed();
  };
  const SelfCheckReport report = Check();
  EXPECT_TRUE(report.trials.empty());
  EXPECT_EQ(Verdict(report).exit, 4);
  EXPECT_THAT(
      Verdict(report).reasons,
      ElementsAre("the control run is red without any fault: parity/FG_A/a: fail: one bit"));
  EXPECT_EQ(Written()["faults"][0]["state"], "pending");
  EXPECT_EQ(Written()["control"]["red"][0]["cell"], "parity/FG_A/a");
}

TEST_F(SelfCheckTest, WhatCannotRunHereIsNotJudged) {
  const auto before = script_;
  script_ = [before](const std::string& fault, const CellId& cell) {
    return cell.kind == "lattice" ? CellResult::Unsupported("one level only") : before(fault, cell);
  };
  const SelfCheckReport report = Check();
  EXPECT_EQ(report.StateOf("torn"), TrialState::kNotJudged);
  EXPECT_EQ(Verdict(report).exit, 3);
  EXPECT_THAT(Verdict(report).reasons,
              ElementsAre("torn was not judged by lattice: no cell of lattice passed the control "
                          "run: unsupported: one level only"));
}

TEST_F(SelfCheckTest, AnErrorOfTheHarnessIsNoKill) {
  const auto before = script_;
  script_ = [before](const std::string& fault, const CellId& cell) {
    return fault == "torn" ? CellResult::Error("no answer in time") : before(fault, cell);
  };
  const SelfCheckReport report = Check();
  EXPECT_EQ(report.StateOf("torn"), TrialState::kError);
  EXPECT_EQ(Verdict(report).exit, 4);
  EXPECT_THAT(Verdict(report).reasons,
              ElementsAre("torn against lattice ended in an error: no answer in time"));
}

TEST_F(SelfCheckTest, FaultsAndKindsWithoutEachOtherAreNamed) {
  options_.faults = {{"bent", "bends a bit", {"parity"}}, {"idle", "no kind", {}}};
  const SelfCheckReport report = Check();
  EXPECT_THAT(report.unlisted, ElementsAre("idle"));
  EXPECT_THAT(report.unclaimed, ElementsAre("lattice"));
  EXPECT_EQ(Verdict(report).exit, 1);
  EXPECT_THAT(Verdict(report).reasons,
              ElementsAre("fault 'idle' lists no kind that must catch it",
                          "no fault lists the kind 'lattice': nothing shows that it can fail"));
  EXPECT_EQ(Written()["faults"][1]["state"], "unlisted");
  // A part is not held to the kinds.
  options_.fault_names = {"bent"};
  EXPECT_EQ(Verdict(Check()).exit, 0);
}

TEST_F(SelfCheckTest, AChoiceRunsItsPartOnly) {
  options_.kinds = {"lattice"};
  const SelfCheckReport report = Check();
  ASSERT_EQ(report.trials.size(), 1u);
  EXPECT_EQ(report.trials[0].fault, "torn");
  EXPECT_EQ(report.control_cells, 1u);
}

TEST_F(SelfCheckTest, MisspeltNamesGetTheNearest) {
  const auto message = [&] { return RunSelfCheck(options_).status().message(); };
  options_.fault_names = {"bemt"};
  EXPECT_EQ(message(), "--fault bemt: unknown fault 'bemt'; did you mean 'bent'?");
  options_.fault_names = {"bent"};
  options_.kinds = {"latice"};
  EXPECT_EQ(message(), "--kind latice: unknown kind of evidence 'latice'; did you mean 'lattice'?");
  options_.kinds = {"lattice"};
  EXPECT_EQ(message(), "bent does not list lattice");
  options_.fault_names = {};
  options_.kinds = {};
  options_.faults[0].kinds = {"paritty"};
  EXPECT_EQ(message(),
            "fault 'bent' lists the kind 'paritty', which this suite does not know; did "
            "you mean 'parity'?");
  options_.faults = {};
  EXPECT_EQ(message(), "head lists no fault, so there is nothing to check");
}

TEST(Faults, AreReadStrictly) {
  const auto faults = ParseFaults(
      R"([{"name": "a_b", "description": "x", "kinds": ["parity"]}, {"name": "c", "description": "y", "kinds": []}])");
  ASSERT_TRUE(faults.ok()) << faults.status().message();
  EXPECT_EQ((*faults)[0].kinds, std::vector<std::string>{"parity"});
  const std::map<std::string, std::string> wrong = {
      {"{}", "faults: must be a list, is an object"},
      {R"([{"name": "../x", "description": "", "kinds": []}])",
       "faults[0].name: may hold letters, digits, '_' and '-'"},
      {R"([{"name": "", "description": "", "kinds": []}])", "faults[0].name: is empty"},
      {R"([{"name": "a", "kinds": []}])", "faults[0].description: is missing"},
      {R"([{"name": "a", "description": "", "kinds": [], "extra": 1}])",
       "faults[0]: unknown member 'extra'"},
      {R"([{"name": "a", "description": "", "kinds": []}, {"name": "a", "description": "", "kinds": []}])",
       "faults[1]: 'a' stands twice"}};
  for (const auto& [text, message] : wrong)
    EXPECT_THAT(ParseFaults(text).status().message(), HasSubstr(message)) << text;
}

TEST(Faults, AnEngineThatCannotSayIsNamed) {
  EXPECT_EQ(AskFaults({"/bin/false"}).status().message(), "head's `faults --json`: exit code 1");
  EXPECT_THAT(AskFaults({"/bin/echo"}).status().message(),
              testing::StartsWith("head's `faults --json`: faults:1:"));
}

TEST_F(SelfCheckTest, AClassTriesWhatItCanShow) {
  std::string text = kSmallMatrix;
  text.insert(
      std::string("version: 1\n").size(),
      "classes: {cpu: {probe: [probe], device: cpu}, gpu: {probe: [probe], device: cuda}}\n");
  const std::string lattice = "  lattice: {models: [a], ";
  text.replace(text.find(lattice), lattice.size(), "  lattice: {scope: [gpu], models: [a], ");
  options_.base.matrix = std::move(Matrix::Parse(text, "m.yaml", SmallKinds())).value();
  options_.faults.push_back({"raced", "races", {"parity"}, "cuda"});
  options_.faults.push_back({"slow", "waits", {"parity", "lattice"}, "cpu"});
  SelfCheckOptions narrow = options_;
  ASSERT_TRUE(NarrowToClass(&narrow).ok());
  // torn lists the lattice alone, which this class does not measure; raced acts elsewhere.
  ASSERT_EQ(narrow.faults.size(), 2u);
  EXPECT_EQ(narrow.faults[0].name, "bent");
  EXPECT_EQ(narrow.faults[1].name, "slow");
  EXPECT_THAT(narrow.faults[1].kinds, ElementsAre("parity"));
  EXPECT_THAT(narrow.all_kinds, ElementsAre("parity"));
  options_.fault_names = {"raced"};
  EXPECT_EQ(RunSelfCheck(options_).status().message(),
            "--fault raced: acts on device cuda, or what must turn red under it is not measured "
            "on class 'cpu'");
  options_.fault_names.clear();
  options_.kinds = {"lattice"};
  EXPECT_EQ(RunSelfCheck(options_).status().message(),
            "--kind lattice: is not measured on class 'cpu'");
}

}  // namespace
}  // namespace flipgate
