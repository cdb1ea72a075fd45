#include "engine/build_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/sha256.h"
#include "base/testing/temp_dir.h"

namespace fg {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

constexpr char kProject[] =
    "version: 1\n"
    "engine:\n"
    "  paths: [a.txt, sub, absent]\n"
    "  defaults: defaults.yaml\n"
    "build:\n"
    "  compile: [make]\n"
    "\n"
    "  # a comment\n"
    "# another\n"
    "suite:\n"
    "  matrix: m.yaml\n";
constexpr char kRecipeBytes[] = "build:\n  compile: [make]\n\n  # a comment\n# another\n";

// A project in a temporary folder, with a repository or without.
class Stamp : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fg::ProcessTempDir() + "fg_stamp_" +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(root_);
    ASSERT_TRUE(MakeFolders(root_ + "/sub").ok());
    Write("flipgate.yaml", kProject);
    Write("a.txt", "a\n");
    Write("sub/b.txt", "b\n");
    Write("outside.txt", "o\n");
    Write("defaults.yaml", "d\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomic(root_ + "/" + name, text).ok());
  }
  std::string Shell(const std::string& command) {
    const std::string out = root_ + "/.out";
    const std::string whole = "cd '" + root_ + "' && { " + command + "; } > .out 2>&1";
    status_ = WEXITSTATUS(std::system(whole.c_str()));
    const auto text = ReadFile(out);
    std::filesystem::remove(out);
    return text.ok() ? *text : "";
  }
  void Commit() {
    Shell(
        "git init -q . && git add a.txt sub outside.txt defaults.yaml flipgate.yaml && "
        "git -c user.name=n -c user.email=e@e commit -q -m first");
    ASSERT_EQ(status_, 0);
  }
  std::string Run(const std::string& project = "$PWD") {
    const std::string errors =
        Shell(std::string(FG_SOURCE_DIR) + "/scripts/stamp " + project + " 1.2.3 $PWD/out/stamp.h");
    if (status_ != 0) return errors;
    const auto text = ReadFile(root_ + "/out/stamp.h");
    return text.ok() ? *text : text.status().message();
  }

  std::string root_;
  int status_ = 0;
};

TEST_F(Stamp, SaysCommitHashAndRecipeOfACleanTree) {
  Commit();
  const std::string commit = Shell("git rev-parse HEAD").substr(0, 40);
  const std::string tree = Shell("git ls-tree -r -z HEAD -- a.txt sub absent");
  EXPECT_EQ(Run(),
            "// Written by scripts/stamp at every build.\n"
            "#pragma once\n\n"
            "namespace fg::stamp {\n"
            "inline constexpr char kVersion[] = \"1.2.3\";\n"
            "inline constexpr char kCommit[] = \"" +
                commit +
                "\";\n"
                "inline constexpr char kEngineHash[] = \"" +
                Sha256Hex(tree) +
                "\";\n"
                "inline constexpr char kRecipe[] = \"" +
                Sha256Hex(kRecipeBytes) +
                "\";\n"
                "inline constexpr bool kDirty = false;\n"
                "}  // namespace fg::stamp\n");
}

TEST_F(Stamp, InputsDefaultsAndUntrackedFilesMakeItDirtyOthersDoNot) {
  Commit();
  Write("outside.txt", "changed\n");
  Write("untracked.txt", "u\n");
  EXPECT_THAT(Run(), HasSubstr("kDirty = false"));
  Write("sub/new.txt", "n\n");
  EXPECT_THAT(Run(), HasSubstr("kDirty = true"));
  std::filesystem::remove(root_ + "/sub/new.txt");
  EXPECT_THAT(Run(), HasSubstr("kDirty = false"));
  Write("defaults.yaml", "changed\n");
  EXPECT_THAT(Run(), HasSubstr("kDirty = true"));
  Write("defaults.yaml", "d\n");
  Write("a.txt", "changed\n");
  EXPECT_THAT(Run(), HasSubstr("kDirty = true"));
}

TEST_F(Stamp, TheHashIsOfTheCommitNotOfTheTree) {
  Commit();
  const std::string before = Run();
  Write("outside.txt", "changed\n");
  Shell("git -c user.name=n -c user.email=e@e commit -q -a -m second");
  const std::string after = Run();
  const auto hash = [](const std::string& text) {
    return text.substr(text.find("kEngineHash"), 84);
  };
  EXPECT_NE(before, after);
  EXPECT_EQ(hash(before), hash(after));
  Write("a.txt", "changed\n");
  Shell("git -c user.name=n -c user.email=e@e commit -q -a -m third");
  EXPECT_NE(hash(Run()), hash(after));
}

TEST_F(Stamp, AnUnchangedStampIsNotWrittenAgain) {
  Commit();
  Run();
  const auto when =
      std::filesystem::last_write_time(root_ + "/out/stamp.h") - std::chrono::hours(1);
  std::filesystem::last_write_time(root_ + "/out/stamp.h", when);
  Run();
  EXPECT_EQ(std::filesystem::last_write_time(root_ + "/out/stamp.h"), when);
  Write("a.txt", "changed\n");
  Run();
  EXPECT_NE(std::filesystem::last_write_time(root_ + "/out/stamp.h"), when);
}

TEST_F(Stamp, WithoutARepositoryOfItsOwnItHasNoCommitAndIsDirty) {
  const auto expect_none = [](const std::string& stamp) {
    EXPECT_THAT(stamp, HasSubstr("kCommit[] = \"\""));
    EXPECT_THAT(stamp, HasSubstr("kEngineHash[] = \"\""));
    EXPECT_THAT(stamp, HasSubstr("kRecipe[] = \"" + Sha256Hex(kRecipeBytes)));
    EXPECT_THAT(stamp, HasSubstr("kDirty = true"));
  };
  expect_none(Run());
  Shell("git init -q .");
  expect_none(Run());  // no commit yet
  Commit();
  Shell("mkdir copy && cp -r flipgate.yaml a.txt copy");
  expect_none(Run("$PWD/copy"));  // in somebody else's repository
}

TEST_F(Stamp, AProjectFileItCannotReadStopsTheBuild) {
  const auto error = [&](const std::string& text) {
    Write("flipgate.yaml", text);
    const std::string said = Run();
    EXPECT_EQ(status_, 2);
    return said;
  };
  const std::string start = "stamp: " + root_ + "/flipgate.yaml: ";
  EXPECT_EQ(error("build:\n"), start + "no line 'paths: [...]' under 'engine:'\n");
  EXPECT_EQ(error("engine:\n  paths: []\n"), start + "engine.paths is empty\n");
  EXPECT_EQ(error("engine:\n  paths: [a]\n"), start + "no line 'defaults: PATH' under 'engine:'\n");
  EXPECT_EQ(error("engine:\n  paths: [a]\n  defaults: d\n"), start + "no block 'build:'\n");
  std::filesystem::remove(root_ + "/flipgate.yaml");
  EXPECT_EQ(Run(), start + "cannot be read\n");
}

TEST(BuildInfo, ThisBuildKnowsItsCompilerAndTheFlagsOfTheArithmetic) {
  const BuildInfo& build = ThisBuild();
  EXPECT_THAT(build.version, MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(build.compiler, MatchesRegex("[A-Za-z]+ [0-9.]+"));
  EXPECT_THAT(build.flags, HasSubstr("-ffp-contract=off"));
  EXPECT_THAT(build.recipe, MatchesRegex("[0-9a-f]{64}"));
  EXPECT_EQ(build.commit.empty(), build.engine_hash.empty());
  EXPECT_TRUE(build.dirty || !build.commit.empty());
}

TEST(BuildInfo, TheRunningProgramIsSummed) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_EQ(RunningProgramSha256(), *Sha256File(self.string()));
  EXPECT_EQ(RunningProgramSha256().size(), 64u);
}

TEST(BuildInfo, TheVersionLineIsShort) {
  BuildInfo build;
  build.version = "1.2.3";
  EXPECT_EQ(VersionLine(build), "fg-engine 1.2.3 (no commit, dirty)");
  build.commit = "0123456789abcdef0123456789abcdef01234567";
  EXPECT_EQ(VersionLine(build), "fg-engine 1.2.3 (0123456789ab, dirty)");
  build.dirty = false;
  EXPECT_EQ(VersionLine(build), "fg-engine 1.2.3 (0123456789ab)");
}

}  // namespace
}  // namespace fg
