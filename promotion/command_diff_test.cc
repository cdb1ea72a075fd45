// `flipgate diff` on bundles in files: what it says of each change, and its exit codes.
#include "promotion/command_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "base/testing/temp_dir.h"
#include "gates/testing/example_bundle.h"
#include "promotion/bundle_diff.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;
using fg::Json;
using testing::HasSubstr;
using testing::Not;

class DiffTest : public testing::Test {
 protected:
  DiffTest() { fs::create_directories(root_); }
  ~DiffTest() override { fs::remove_all(root_); }

  std::string Write(const std::string& name, Bundle bundle) {
    for (BundleCell& cell : bundle.cells) cell.attachments.clear();
    const std::string path = root_ + "/" + name;
    EXPECT_TRUE(fg::WriteFileAtomic(path, BundleToJson(bundle).dump()).ok());
    return path;
  }
  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "diff");
    out_.str("");
    err_.str("");
    return RunCli(arguments, {}, {.out = &out_, .err = &err_}, {});
  }

  const std::string root_ =
      fg::ProcessTempDir() + "command_diff_test_" + std::to_string(::getpid());
  std::ostringstream out_, err_;
};

TEST_F(DiffTest, TheSameIsTheSame) {
  const std::string a = Write("a.json", ExampleBundle());
  EXPECT_EQ(Run({a, a}), 0);
  EXPECT_EQ(out_.str(),
            "same: 6 cells ended the same, 0 otherwise; 0 figures moved by more than 10 %\n");
}

TEST_F(DiffTest, AFailureInBIsWorseAndInABetter) {
  const std::string a = Write("a.json", ExampleBundle());
  Bundle failed = ExampleBundle();
  Fail(failed, "parity/FG_A/a", "mismatch", "one bit");
  const std::string b = Write("b.json", failed);
  EXPECT_EQ(Run({a, b}), 1);
  EXPECT_EQ(out_.str(),
            "verdict  verdict: proven -> refuted\n"
            "verdict  FG_A: proven -> refuted\n"
            "worse    parity/FG_A/a: pass -> fail: one bit\n"
            "worse: 5 cells ended the same, 1 otherwise; 0 figures moved by more than 10 %\n");
  EXPECT_EQ(Run({b, a}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("better   parity/FG_A/a: fail -> pass\n"));
  EXPECT_THAT(out_.str(), HasSubstr("no worse: 5 cells"));
}

TEST_F(DiffTest, CellsThatComeAndGoAreNamed) {
  const Bundle whole = ExampleBundle();
  Bundle part = ExampleBundle();
  const BundleCell gone = part.cells.back();
  part.cells.pop_back();
  // Lost evidence is worse; new evidence is not, unless it speaks against.
  BundleDiff diff = DiffBundles(whole, part, 0.1);
  ASSERT_EQ(diff.cells.size(), 1u);
  EXPECT_EQ(diff.cells[0].cell, gone.id.Text());
  EXPECT_EQ(diff.cells[0].kind, CellChange::Kind::kVanished);
  EXPECT_TRUE(diff.Worse());
  diff = DiffBundles(part, whole, 0.1);
  EXPECT_EQ(diff.cells[0].kind, CellChange::Kind::kAppeared);
  EXPECT_FALSE(diff.Worse());
  Bundle failing = whole;
  Fail(failing, gone.id.Text(), "fork", "token 3");
  EXPECT_TRUE(DiffBundles(part, failing, 0.1).Worse());
  Bundle skipped = whole;
  Skip(skipped, gone.id.Text(), "no snapshot");
  EXPECT_TRUE(DiffBundles(whole, skipped, 0.1).Worse());
}

TEST_F(DiffTest, FiguresThatMoveAndHashesThatDifferAreNoVerdict) {
  Bundle moved = ExampleBundle();
  moved.cells[0].figures = {{"tokens", 32}, {"kl", {{"mean", 0.5}}}, {"zero", 0}};
  Bundle after = moved;
  after.cells[0].figures = {{"tokens", 34}, {"kl", {{"mean", 0.25}}}, {"zero", 1}};
  after.header.hashes.engine = std::string(64, 'f');
  const std::string a = Write("a.json", moved), b = Write("b.json", after);
  EXPECT_EQ(Run({a, b}), 0);
  EXPECT_EQ(out_.str(),
            "differs  hashes.engine: aaaaaaaaaaaa -> ffffffffffff\n"
            "moved    parity/default/a kl.mean: 0.5 -> 0.25 (50.0 %)\n"
            "moved    parity/default/a zero: 0 -> 1 (from 0)\n"
            "same: 6 cells ended the same, 0 otherwise; 2 figures moved by more than 10 %\n");
  EXPECT_EQ(Run({a, b, "--share", "5"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("tokens: 32 -> 34 (6.2 %)"));
  EXPECT_EQ(Run({a, b, "--json"}), 0);
  const Json json = Json::parse(out_.str());
  EXPECT_EQ(json["figures"][1]["share"], nullptr);
  EXPECT_EQ(json["differs"][0]["name"], "hashes.engine");
  EXPECT_EQ(json["same"], 6);
}

TEST_F(DiffTest, AWaiverIsNoPass) {
  Bundle failed = ExampleBundle();
  Fail(failed, "parity/FG_A/a", "mismatch", "one bit");
  Bundle waived = failed;
  waived.waivers = {{.cell = {"parity", "FG_A", "a"},
                     .hardware_class = "cpu",
                     .issue = "#7",
                     .owner = "ann",
                     .reason = "known",
                     .expires = "2026-12-31"}};
  EXPECT_FALSE(DiffBundles(failed, waived, 0.1).Worse());
  EXPECT_TRUE(DiffBundles(waived, failed, 0.1).Worse());
  EXPECT_TRUE(DiffBundles(ExampleBundle(), waived, 0.1).Worse());
}

TEST_F(DiffTest, SomebodyElsesBundleIsReadWithCare) {
  const std::string a = Write("a.json", ExampleBundle());
  EXPECT_EQ(Run({a, root_ + "/none"}), 2);
  EXPECT_EQ(err_.str(), "flipgate: " + root_ + "/none: there is no such bundle\n");
  std::string text = *fg::ReadFile(a);
  text.replace(text.find("\"proven\""), 8, "\"PROVEN\"");
  ASSERT_TRUE(fg::WriteFileAtomic(root_ + "/forged.json", text).ok());
  EXPECT_EQ(Run({a, root_ + "/forged.json"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("/forged.json: the bundle is damaged: "));
  fs::create_symlink(a, root_ + "/link.json");
  EXPECT_EQ(Run({a, root_ + "/link.json"}), 2);
  EXPECT_EQ(err_.str(), "flipgate: " + root_ + "/link.json: the bundle is damaged: " + root_ +
                            "/link.json: is a link\n");
  // Nothing in it moves the cursor.
  Bundle loud = ExampleBundle();
  Fail(loud, "parity/FG_A/a", "mismatch", "\033[2Jbit\r");
  EXPECT_EQ(Run({a, Write("loud.json", loud)}), 1);
  EXPECT_THAT(out_.str(), HasSubstr("fail: ?[2Jbit?\n"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("\033")));
}

TEST_F(DiffTest, ARunThatWasCutOffCanBeCompared) {
  Bundle cut = ExampleBundle();
  cut.complete = false;
  cut.pending = {cut.cells.back().id};
  cut.cells.pop_back();
  EXPECT_EQ(Run({Write("a.json", ExampleBundle()), Write("cut.json", cut)}), 1) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("vanished lattice/default/a: was pass\n"));
}

TEST_F(DiffTest, UsageIsHelped) {
  EXPECT_EQ(Run({root_}), 2);
  EXPECT_EQ(err_.str(), "flipgate: diff: B is required\n");
  EXPECT_EQ(Run({root_, root_, "--shar", "1"}), 2);
  EXPECT_EQ(err_.str(), "flipgate: diff: unknown option '--shar'; did you mean '--share'?\n");
}

}  // namespace
}  // namespace flipgate
