#include "promotion/git.h"

#include <gtest/gtest.h>

#include "promotion/testing/repository.h"

namespace flipgate {
namespace {

TEST(Git, TheTreeHashFollowsTheNamedPathsOnly) {
  TestRepository repo("git_test");
  repo.Write("engine/a.cc", "one");
  repo.Write("docs/x.md", "text");
  repo.Commit("first");
  const Git git(repo.path());
  const std::string before = git.TreeHash("HEAD", {"engine"}).value();
  repo.Write("docs/x.md", "other text");
  repo.Commit("docs");
  EXPECT_EQ(git.TreeHash("HEAD", {"engine"}).value(), before);
  repo.Write("engine/a.cc", "two");
  repo.Commit("code");
  EXPECT_NE(git.TreeHash("HEAD", {"engine"}).value(), before);
  EXPECT_EQ(git.TreeHash("HEAD~1", {"engine"}).value(), before);
}

TEST(Git, ALeftOutPathDoesNotCount) {
  TestRepository repo("git_test");
  repo.Write("gates/a.cc", "one");
  repo.Write("gates/matrix.yaml", "m1");
  repo.Write("gates/matrix.yaml.bak", "b");
  repo.Commit("first");
  const Git git(repo.path());
  const std::vector<std::string> paths = {"gates", "!gates/matrix.yaml"};
  const std::string before = git.TreeHash("HEAD", paths).value();
  EXPECT_NE(before, git.TreeHash("HEAD", {"gates"}).value());
  repo.Write("gates/matrix.yaml", "m2");
  repo.Commit("matrix");
  EXPECT_EQ(git.TreeHash("HEAD", paths).value(), before);
  repo.Write("gates/matrix.yaml.bak", "c");
  repo.Commit("a neighbour whose name begins alike");
  EXPECT_NE(git.TreeHash("HEAD", paths).value(), before);
}

TEST(Git, DirtyCountsUntrackedFilesToo) {
  TestRepository repo("git_test");
  repo.Write("engine/a.cc", "one");
  repo.Commit("first");
  const Git git(repo.path());
  EXPECT_FALSE(git.Dirty({"engine"}).value());
  repo.Write("engine/b.cc", "new");
  EXPECT_TRUE(git.Dirty({"engine"}).value());
}

TEST(Git, AFailureCarriesGitsOwnWords) {
  TestRepository repo("git_test");
  repo.Write("a", "1");
  repo.Commit("first");
  const auto shown = Git(repo.path()).Show("HEAD", "missing");
  ASSERT_FALSE(shown.ok());
  EXPECT_EQ(shown.status().message().substr(0, 31), "git cat-file: exit code 128: fa");
}

}  // namespace
}  // namespace flipgate
