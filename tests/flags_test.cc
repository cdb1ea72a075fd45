// The compile flags that docs/arithmetic.md needs, read from the compile commands of this build.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

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

// Device code: nvcc would contract to FMAs, flush denormals or divide approximately where a flag
// lets it, and it hands -Xcompiler's words to the host's compiler.
std::vector<std::string> DeviceFlagFaults(const CompileCommand& c) {
  std::vector<std::string> faults;
  for (const char* flag : {"--fmad=false", "-Werror=all-warnings", "-std=c++20"}) {
    if (!Has(c.command, flag)) faults.push_back(std::string("lacks ") + flag);
  }
  static const std::regex kHost(" -Xcompiler=(\\S+)");
  std::set<std::string> host;
  for (std::sregex_iterator at(c.command.begin(), c.command.end(), kHost), end; at != end; ++at) {
    std::istringstream words((*at)[1].str());
    for (std::string word; std::getline(words, word, ',');) host.insert(word);
  }
  for (const char* flag : {"-ffp-contract=off", "-Wall", "-Wextra"}) {
    if (!host.contains(flag)) faults.push_back(std::string("the host's compiler lacks ") + flag);
  }
  static const std::regex kLoose(
      "[ ,=](--?use_fast_math|--?ftz=true|--?prec-div=false|--?prec-sqrt=false|--?fmad=true|"
      "-ffast-math|-Ofast|-funsafe-math-optimizations|-march=[^ ,]+|-ffp-contract=fast)");
  std::smatch found;
  if (std::regex_search(c.command, found, kLoose)) faults.push_back("has " + found[1].str());
  return faults;
}

std::vector<std::string> FlagFaults(const CompileCommand& c) {
  if (c.file.ends_with(".cu")) return DeviceFlagFaults(c);
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

// Where files need nvcc, or its headers: a build without it leaves them out.
bool NeedsCuda(const std::string& path) {
  const bool folder = path.starts_with("kernels/cuda/") || path.starts_with("engine/backend/cuda/");
  return folder && (path.ends_with("_gpu_test.cc") || path.ends_with(".cu"));
}

TEST(Flags, EveryFileKeepsTheContract) {
  const auto commands = CompileCommands();
  ASSERT_GT(commands.size(), 50u);
  const auto device = std::count_if(commands.begin(), commands.end(), [](const CompileCommand& c) {
    return c.file.ends_with(".cu");
  });
  EXPECT_EQ(device > 0, FG_HAVE_CUDA == 1);
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

TEST(Flags, ALooseFlagOfADeviceIsSeen) {
  const std::string good =
      "ccache nvcc -std=c++20 --fmad=false -Werror=all-warnings -Xcompiler=-fPIC "
      "-Xcompiler=-Wall,-Wextra,-ffp-contract=off -x cu";
  const auto faults = [](const std::string& command) {
    return FlagFaults({"kernels/cuda/a.cu", command});
  };
  EXPECT_EQ(faults(good), std::vector<std::string>{});
  for (const char* flag :
       {"-use_fast_math", "--use_fast_math", "-ftz=true", "--ftz=true", "-prec-div=false",
        "--prec-sqrt=false", "--fmad=true", "-Xcompiler=-O2,-ffast-math", "-Xcompiler=-Ofast"}) {
    EXPECT_EQ(faults(good + " " + flag).size(), 1u) << flag;
  }
  EXPECT_EQ(faults("nvcc -x cu").size(), 6u);
  // The flag must reach the host's compiler: beside it nvcc takes it for its own.
  EXPECT_EQ(faults("nvcc -std=c++20 --fmad=false -Werror=all-warnings -Xcompiler=-Wall,-Wextra "
                   "-ffp-contract=off"),
            std::vector<std::string>{"the host's compiler lacks -ffp-contract=off"});
}

// Every test on disk is built (C++) or registered (Python): a test left out of the build list is
// none.
TEST(Flags, EveryTestOnDiskIsRegistered) {
  std::set<std::string> built;
  for (const CompileCommand& c : CompileCommands()) built.insert(c.file);
  const auto registered = ReadFile(std::string(FG_BINARY_DIR) + "/registered_python_tests.txt");
  ASSERT_TRUE(registered.ok()) << registered.status().message();
  int tests = 0;
  // Kernels too: one that no build list names would be proven by nothing.
  for (const SourceFile& file : SourceFiles({"_test.cc", "_test.py", ".cu"})) {
    ++tests;
    if (FG_HAVE_CUDA == 0 && NeedsCuda(file.path)) continue;
    if (file.path.ends_with("_bench.cu")) continue;  // benchmarks are an option
    const bool known = !file.path.ends_with(".py")
                           ? built.contains(file.path)
                           : registered->find(file.path + "\n") != std::string::npos;
    EXPECT_TRUE(known) << file.path << " is on disk but in no build list";
  }
  EXPECT_GT(tests, 20);
}

}  // namespace
}  // namespace fg
