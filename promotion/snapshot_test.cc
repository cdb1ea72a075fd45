// The snapshot is found by hashes and built by the recipe of its own revision. The recipe here
// copies a stub that speaks the probe: what is tested is which commit is taken and that its word is
// checked.
#include "promotion/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "promotion/defaults.h"
#include "promotion/hashes.h"
#include "promotion/testing/repository.h"

namespace flipgate {
namespace {

using testing::HasSubstr;

constexpr const char* kOptIn =
    "version: 1\nclasses: [cpu, other]\ngates:\n  FG_MMQ:\n    cpu: {stage: opt_in}\n";
constexpr const char* kPromoted =
    "version: 1\nclasses: [cpu, other]\ngates:\n  FG_MMQ:\n    cpu: {stage: promoted, value: 1}\n";

// A stub engine whose hello tells what the recipe put in place of the words in capitals.
constexpr const char* kStub =
    "#!/bin/sh\nread line\n"
    "echo '{\"id\": 1, \"ok\": true, \"build\": {\"engine_hash\": \"HASH\", \"defaults_hash\": "
    "\"DEFAULTS\", "
    "\"commit\": \"COMMIT\", \"dirty\": false}}'\nread line\n";
// The recipe computes what a build stamps, from git, as docs/hashes.md says.
constexpr const char* kRecipe =
    "#!/bin/sh\nset -e\nmkdir -p \"$1/bin\"\n"
    "hash=$(git ls-tree -r -z HEAD -- engine | sha256sum | cut -c1-64)\n"
    "defaults=$(printf 'FG_MMQ opt_in\\n' | sha256sum | cut -c1-64)\n"
    "sed -e s/HASH/$hash/ -e s/DEFAULTS/$defaults/ -e s/COMMIT/$(git rev-parse HEAD)/ "
    "engine/stub.sh > "
    "\"$1/bin/engine\"\nchmod +x \"$1/bin/engine\"\n";

std::string ProjectYaml(const SnapshotPin* pin) {
  std::string text =
      "version: 1\n"
      "engine:\n  paths: [engine]\n  defaults: defaults.yaml\n"
      "build:\n  compile: [/bin/sh, recipe.sh, \"{build}\"]\n  engine: \"{build}/bin/engine\"\n"
      "suite:\n  paths: [suite]\n  matrix: suite/matrix.yaml\n  proofs: proofs\n  ledger: ledger\n";
  if (pin != nullptr) {
    text += "snapshot:\n  cpu: {engine: " + pin->engine + ", defaults: " + pin->defaults + "}\n";
  }
  return text;
}

class SnapshotTest : public testing::Test {
 protected:
  SnapshotTest() : repo_("snapshot_test") {
    repo_.Write("engine/stub.sh", kStub);
    repo_.Write("suite/matrix.yaml", "none\n");
    repo_.Write("recipe.sh", kRecipe);
    repo_.Write("defaults.yaml", kOptIn);
    repo_.Write("flipgate.yaml", ProjectYaml(nullptr));
    first_ = repo_.Commit("opt-in");
    pin_ = PinOf("HEAD");
  }

  Project LoadProject() { return Project::Load(repo_.path()).value(); }
  SnapshotPin PinOf(const std::string& revision) {
    const auto hashes = HashRevision(Git(repo_.path()), LoadProject(), revision, "cpu").value();
    return {hashes.engine, hashes.defaults};
  }
  void Pin(const SnapshotPin& pin) { repo_.Write("flipgate.yaml", ProjectYaml(&pin)); }
  fg::Result<Snapshot> Obtain() {
    return ObtainSnapshot(LoadProject(), "cpu",
                          [this](const std::string& line) { notes_.push_back(line); });
  }

  TestRepository repo_;
  std::string first_;
  SnapshotPin pin_;
  std::vector<std::string> notes_;
};

TEST_F(SnapshotTest, WithoutAPinThereIsNone) {
  const auto snapshot = Obtain();
  ASSERT_TRUE(snapshot.ok());
  EXPECT_EQ(snapshot->record.absent, "flipgate.yaml names no snapshot for class 'cpu'");
}

TEST_F(SnapshotTest, HeadItselfIsNothingToContrast) {
  Pin(pin_);
  repo_.Commit("name the snapshot");
  const auto snapshot = Obtain();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status().message();
  EXPECT_EQ(snapshot->record.absent, "nothing to contrast: the snapshot is this very state");
  EXPECT_EQ(InspectSnapshot(LoadProject(), "cpu").absent, snapshot->record.absent);
}

TEST_F(SnapshotTest, TheNewestAncestorWithBothHashesIsTaken) {
  repo_.Write("README", "a commit that moves neither hash");
  const std::string second = repo_.Commit("readme");
  repo_.Write("defaults.yaml", kPromoted);
  Pin(pin_);
  repo_.Commit("flip");
  const auto commit = FindRevision(Git(repo_.path()), LoadProject(), pin_, "cpu");
  ASSERT_TRUE(commit.ok());
  EXPECT_EQ(*commit, second);
}

TEST_F(SnapshotTest, APinOutsideTheHistoryIsSaid) {
  SnapshotPin other = pin_;
  other.engine = std::string(64, 'a');
  Pin(other);
  repo_.Commit("a pin that nobody has");
  const auto snapshot = Obtain();
  ASSERT_FALSE(snapshot.ok());
  EXPECT_EQ(InspectSnapshot(LoadProject(), "cpu").missing, snapshot.status().message());
  EXPECT_EQ(
      snapshot.status().message(),
      "the snapshot of class 'cpu' (engine aaaaaaaaaaaa..., defaults " +
          pin_.defaults.substr(0, 12) +
          "...) is not in this history; flipgate.yaml names a state that no ancestor of HEAD has");
}

TEST_F(SnapshotTest, AShallowCloneIsToldWhatToDo) {
  repo_.Write("defaults.yaml", kPromoted);
  Pin(pin_);
  repo_.Commit("flip");
  const std::string clone = repo_.path() + "-clone";
  std::filesystem::remove_all(clone);
  repo_.Git("clone -q --depth 1 file://" + repo_.path() + " " + clone);
  const auto snapshot =
      ObtainSnapshot(Project::Load(clone).value(), "cpu", [](const std::string&) {});
  std::filesystem::remove_all(clone);
  ASSERT_FALSE(snapshot.ok());
  EXPECT_THAT(snapshot.status().message(),
              HasSubstr("this clone is shallow: run `git fetch --unshallow`"));
}

TEST_F(SnapshotTest, IsBuiltOnceAndKept) {
  repo_.Write("defaults.yaml", kPromoted);
  Pin(pin_);
  repo_.Commit("flip");
  SnapshotState state = InspectSnapshot(LoadProject(), "cpu");
  EXPECT_EQ(state.commit, first_);
  EXPECT_FALSE(state.kept);
  EXPECT_EQ(state.missing + state.absent, "");
  const auto snapshot = Obtain();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status().message();
  EXPECT_TRUE(InspectSnapshot(LoadProject(), "cpu").kept);
  EXPECT_EQ(snapshot->record.commit, first_);
  EXPECT_TRUE(std::filesystem::exists(snapshot->program));
  EXPECT_THAT(notes_, testing::ElementsAre("building the snapshot of class cpu from commit " +
                                           first_.substr(0, 12)));
  const auto again = Obtain();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->record.program_sha256, snapshot->record.program_sha256);
  EXPECT_EQ(notes_.size(), 1u);
  EXPECT_EQ(repo_.Git("worktree list | wc -l"), "1\n");
}

TEST_F(SnapshotTest, AKeptProgramThatChangedIsBuiltAgain) {
  repo_.Write("defaults.yaml", kPromoted);
  Pin(pin_);
  repo_.Commit("flip");
  const auto snapshot = Obtain();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status().message();
  std::ofstream(snapshot->program, std::ios::app) << "# changed\n";
  const auto again = Obtain();
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(notes_.size(), 2u);
  EXPECT_EQ(again->record.program_sha256, snapshot->record.program_sha256);
}

// The stub tells nothing of its hashes: a program that cannot prove its identity is no snapshot.
TEST_F(SnapshotTest, AProgramWhoseWordDiffersStopsTheRun) {
  repo_.Write("engine/stub.sh",
              "#!/bin/sh\nread line\necho '{\"id\": 1, \"ok\": true, \"build\": {\"engine_hash\": "
              "\"x\"}}'\nread line\n");
  repo_.Commit("a stub that lies");
  pin_ = PinOf("HEAD");
  repo_.Write("defaults.yaml", kPromoted);
  Pin(pin_);
  repo_.Commit("flip");
  const auto snapshot = Obtain();
  ASSERT_FALSE(snapshot.ok());
  EXPECT_THAT(snapshot.status().message(),
              HasSubstr("says engine_hash x, but " + pin_.engine + " was asked for"));
  ASSERT_EQ(notes_.size(), 1u);
}

TEST_F(SnapshotTest, AFailingRecipeNamesItsLog) {
  repo_.Write("recipe.sh", "#!/bin/sh\necho no compiler here >&2\nexit 7\n");
  repo_.Commit("a recipe that fails");
  pin_ = PinOf("HEAD");
  repo_.Write("defaults.yaml", kPromoted);
  Pin(pin_);
  repo_.Commit("flip");
  const auto snapshot = Obtain();
  ASSERT_FALSE(snapshot.ok());
  EXPECT_THAT(snapshot.status().message(), HasSubstr("the snapshot's recipe failed (exit code 7)"));
  EXPECT_THAT(snapshot.status().message(), HasSubstr("no compiler here"));
}

}  // namespace
}  // namespace flipgate
