// The compile flags that docs/arithmetic.md needs, read from the compile commands of this build.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "base/file.h"
#include "tests/source_tree.h"

namespace fg {
namespace {

struct CompileCommand {
  std::string file;  // from the project's root
  std::string command;
};

std::vector<CompileCommand> CompileCommands() {
  const auto text = ReadFile(std::string(FG_BINARY_DIR) + "/compile_commands.json");
  EXPECT_TRUE(text.ok()) << text.status().message();
  const std::string root = std::string(FG_SOURCE_DIR) + "/";
  std::vector<CompileCommand> commands;
  for (const auto& entry : nlohmann::json::parse(*text)) {
    const std::string file = entry.at("file");
    if (!file.starts_with(root)) continue;
    commands.push_back({file.substr(root.size()), entry.at("command")});
  }
  return commands;
}

bool Has(const std::string& command, const std::string& flag) {
  return (command + " ").find(" " + flag + " ") != std::string::npos;
}

std::vector<std::string> FlagFaults(const CompileCommand& c) {
  std::vector<std::string> faults;
  if (!Has(c.command, "-ffp-contract=off")) faults.push_back("lacks -ffp-contract=off");
  static const std::regex kLoose(
      " (-ffast-math|-Ofast|-funsafe-math-optimizations|-fassociative-math|-freciprocal-math|"
      "-ffinite-math-only|-march=\\S+|-ffp-contract=fast)");
  std::smatch found;
  if (std::regex_search(c.command, found, kLoose)) faults.push_back("has" + found[0].str());
  const bool wide = std::regex_search(c.command, std::regex(" -m(avx|fma|f16c|sse4)"));
  const bool may_be_wide = c.file.starts_with("kernels/cpu/") &&
                           (c.file.ends_with("_avx2.cc") || c.file.ends_with("_avx512.cc"));
  if (wide != may_be_wide) faults.push_back(wide ? "is built wide" : "is not built wide");
  for (const char* flag : {"-Wall", "-Wextra", "-Werror"}) {
    if (!Has(c.command, flag)) faults.push_back(std::string("lacks ") + flag);
  }
  return faults;
}

TEST(Flags, EveryFileKeepsTheContract) {
  const auto commands = CompileCommands();
  ASSERT_GT(commands.size(), 50u);
  for (const CompileCommand& c : commands) {
    EXPECT_EQ(FlagFaults(c), std::vector<std::string>{}) << c.file;
  }
}

// A fixed name under /tmp is shared by tests that run side by side.
TEST(Flags, TestsWriteIntoTheirProcessesOwnFolder) {
  for (const SourceFile& file : SourceFiles({".cc"})) {
    if (file.path == "base/testing/temp_dir.cc" || file.path == "tests/flags_test.cc") continue;
    EXPECT_EQ(file.text.find("testing::TempDir()"), std::string::npos) << file.path;
  }
}

TEST(Flags, ALooseFlagIsSeen) {
  const std::string good = "g++ -Wall -Wextra -Werror -ffp-contract=off -o a";
  EXPECT_TRUE(FlagFaults({"engine/a.cc", good}).empty());
  EXPECT_EQ(FlagFaults({"engine/a.cc", good + " -ffast-math"}).size(), 1u);
  EXPECT_EQ(FlagFaults({"engine/a.cc", good + " -mavx2"}).size(), 1u);
  EXPECT_EQ(FlagFaults({"kernels/cpu/a_avx2.cc", good}).size(), 1u);
  EXPECT_EQ(FlagFaults({"kernels/cpu/a_avx512.cc", good}).size(), 1u);
  EXPECT_EQ(FlagFaults({"engine/a.cc", "g++ -Wall -Wextra -Werror"}).size(), 1u);
}

// Every test on disk is built (C++) or registered (Python): a test left out of the build list is
// none.
TEST(Flags, EveryTestOnDiskIsRegistered) {
  std::set<std::string> built;
  for (const CompileCommand& c : CompileCommands()) built.insert(c.file);
  const auto registered = ReadFile(std::string(FG_BINARY_DIR) + "/registered_python_tests.txt");
  ASSERT_TRUE(registered.ok()) << registered.status().message();
  int tests = 0;
  for (const SourceFile& file : SourceFiles({"_test.cc", "_test.py", "_test.cu"})) {
    ++tests;
    const bool known = file.path.ends_with(".cc")
                           ? built.contains(file.path)
                           : registered->find(file.path + "\n") != std::string::npos;
    EXPECT_TRUE(known) << file.path << " is on disk but in no build list";
  }
  EXPECT_GT(tests, 20);
}

}  // namespace
}  // namespace fg
