#include "gates/project.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/testing/temp_dir.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;

const std::string kGood =
    "version: 1\n"
    "engine: {paths: [src, CMakeLists.txt], defaults: d.yaml}\n"
    "build:\n"
    "  configure: [cmake, -S, \"{source}\"]\n"
    "  compile: [cmake, --build, \"{build}\"]\n"
    "  engine: \"{build}/bin/e\"\n"
    "suite: {paths: [gates], matrix: gates/matrix.yaml, ledger: l, proofs: p}\n"
    "snapshot: {cpu: {engine: " +
    std::string(64, 'a') + ", defaults: " + std::string(64, 'b') + "}}\n";

std::string Refused(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  const auto project = Project::Parse(text.replace(at, from.size(), to), "flipgate.yaml", "/p");
  EXPECT_FALSE(project.ok());
  return project.status().message().substr(0, project.status().message().find('\n'));
}

TEST(Project, ReadsAllOfIt) {
  const auto project = Project::Parse(kGood, "flipgate.yaml", "/p");
  ASSERT_TRUE(project.ok()) << project.status().message();
  EXPECT_EQ(project->engine_paths, (std::vector<std::string>{"src", "CMakeLists.txt"}));
  EXPECT_EQ(project->defaults, "d.yaml");
  ASSERT_EQ(project->build.size(), 2u);
  EXPECT_EQ(project->build[1].at(1), "--build");
  EXPECT_EQ(project->build_program, "bin/e");
  EXPECT_EQ(project->engine, "build/bin/e");
  EXPECT_EQ(project->waivers, "gates/waivers.yaml");
  EXPECT_EQ(project->cache, ".cache");
  EXPECT_EQ(project->snapshots.at("cpu").defaults, std::string(64, 'b'));
  EXPECT_EQ(project->Path("gates/matrix.yaml"), "/p/gates/matrix.yaml");
}

TEST(Project, ToolsAreOptional) {
  EXPECT_TRUE(Project::Parse(kGood, "flipgate.yaml", "/p")->tools.empty());
  std::string text = kGood;
  text.replace(text.find("proofs: p"), 9, "proofs: p, tools: [cc, make]");
  const auto project = Project::Parse(text, "flipgate.yaml", "/p");
  ASSERT_TRUE(project.ok()) << project.status().message();
  EXPECT_EQ(project->tools, (std::vector<std::string>{"cc", "make"}));
}

TEST(Project, RefusesWhatCannotBeMeant) {
  EXPECT_EQ(Refused("version: 1", "version: 2"),
            "flipgate.yaml:1:10: this program reads version 1 of flipgate.yaml, not 2");
  EXPECT_EQ(
      Refused("paths: [src", "paths: [../src"),
      "flipgate.yaml:2:18: each of engine.paths must be a path inside the project, is '../src'");
  EXPECT_EQ(Refused("paths: [gates]", "paths: []"),
            "flipgate.yaml:7:16: suite.paths must not be empty");
  EXPECT_EQ(Refused("matrix: gates/matrix.yaml, ", ""), "flipgate.yaml:7:8: suite has no 'matrix'");
  EXPECT_EQ(Refused("\"{build}/bin/e\"", "bin/e"),
            "flipgate.yaml:6:11: build.engine must begin with {build}/, is 'bin/e'");
  EXPECT_EQ(Refused("compile: [cmake, --build, \"{build}\"]", "compile: make"),
            "flipgate.yaml:5:12: build.compile must be a list: a program and its arguments");
  EXPECT_EQ(
      Refused("defaults: bbbb", "defaults: BBBB").substr(0, 89),
      "flipgate.yaml:8:102: snapshot.cpu.defaults must be 64 lower-case hexadecimal digits, is '");
  EXPECT_EQ(
      Refused("snapshot:", "snapshots:"),
      "flipgate.yaml:8:1: unknown key 'snapshots' in flipgate.yaml; did you mean 'snapshot'?");
}

TEST(FindProjectRoot, WalksUp) {
  const fs::path root = fs::path(fg::ProcessTempDir()) / "project_test";
  fs::create_directories(root / "a/b");
  ASSERT_TRUE(fg::WriteFileAtomic((root / "flipgate.yaml").string(), kGood).ok());
  EXPECT_EQ(*FindProjectRoot((root / "a/b").string()), root.string());
  EXPECT_EQ(*FindProjectRoot(root.string()), root.string());
  ASSERT_TRUE(Project::Load(root.string()).ok());
  EXPECT_EQ(
      FindProjectRoot("/usr/lib").status().message(),
      "no flipgate.yaml in /usr/lib or above it; go to the project, or give --project FOLDER");
  fs::remove_all(root);
}

TEST(Project, TheOwnFileLoads) {
  const auto project = Project::Load(FG_SOURCE_DIR);
  ASSERT_TRUE(project.ok()) << project.status().message();
  EXPECT_EQ(project->matrix, "gates/matrix.yaml");
}

}  // namespace
}  // namespace flipgate
