// The layers of docs/architecture.md, read from the includes: a page alone leaks.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "tests/source_tree.h"

namespace fg {
namespace {

// What each folder may include. Between gates/promotion and the engine stands the process boundary.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"base", {"base"}},
    {"kernels", {"kernels", "base"}},
    {"engine", {"engine", "kernels", "base"}},
    {"gates", {"gates", "base"}},
    {"promotion", {"promotion", "gates", "base"}},
    {"tests", {"tests", "base"}},
};

std::vector<std::string> LayerViolations(const std::vector<SourceFile>& files) {
  std::vector<std::string> violations;
  for (const SourceFile& file : files) {
    const auto allowed = kMayInclude.find(TopFolder(file.path));
    if (allowed == kMayInclude.end()) continue;
    for (const std::string& include : QuotedIncludes(file)) {
      if (!allowed->second.contains(TopFolder(include))) {
        violations.push_back(file.path + " includes " + include);
      }
    }
  }
  return violations;
}

TEST(Layers, IncludesPointDownOnly) {
  const auto files = SourceFiles({".cc", ".h", ".inc", ".cu", ".cuh"});
  ASSERT_GT(files.size(), 50u);
  EXPECT_EQ(LayerViolations(files), std::vector<std::string>{});
}

TEST(Layers, AnUpwardIncludeIsSeen) {
  const std::vector<SourceFile> bad = {{"kernels/cpu/a.cc", "#include \"engine/gates.h\"\n"},
                                       {"kernels/cuda/c.cu", "#include \"engine/ledger.h\"\n"},
                                       {"gates/b.cc", "#include \"engine/ledger.h\"\n"}};
  EXPECT_EQ(LayerViolations(bad).size(), 3u);
}

// Files that call NAME( or mention the identifier, apart from `allowed`.
std::vector<std::string> Users(const std::vector<SourceFile>& files, const std::string& identifier,
                               const std::set<std::string>& allowed) {
  const std::regex pattern("\\b" + identifier + "\\b");
  std::vector<std::string> users;
  for (const SourceFile& file : files) {
    if (allowed.contains(file.path) || file.path.ends_with("_test.cc")) continue;
    if (std::regex_search(file.text, pattern)) users.push_back(file.path);
  }
  return users;
}

std::vector<SourceFile> Below(const std::string& folder) {
  std::vector<SourceFile> files;
  for (SourceFile& file : SourceFiles({".cc", ".h", ".cu", ".cuh"})) {
    if (TopFolder(file.path) == folder) files.push_back(std::move(file));
  }
  return files;
}

TEST(Layers, TheEngineReadsTheEnvironmentInOnePlace) {
  const auto engine = Below("engine");
  EXPECT_EQ(Users(engine, "getenv", {}), std::vector<std::string>{});
  EXPECT_EQ(Users(engine, "secure_getenv", {}), std::vector<std::string>{});
  EXPECT_EQ(Users(engine, "environ", {"engine/main.cc"}), std::vector<std::string>{});
  EXPECT_EQ(Users(engine, "environ", {}), std::vector<std::string>{"engine/main.cc"});
}

TEST(Layers, KernelsKnowNoEnvironmentGateFileOrLog) {
  auto kernels = Below("kernels");
  // Benchmarks and the main of tests are programs around kernels: they print.
  std::erase_if(kernels, [](const SourceFile& file) {
    return file.path.find("_bench.") != std::string::npos;
  });
  ASSERT_GT(kernels.size(), 50u);
  const std::set<std::string> programs = {"kernels/cuda/gpu_tests_main.cc"};
  for (const char* identifier : {"getenv", "environ", "fopen", "ifstream", "ofstream", "FG_[A-Z_]+",
                                 "fprintf", "printf", "cerr"}) {
    EXPECT_EQ(Users(kernels, identifier, programs), std::vector<std::string>{}) << identifier;
  }
}

// Headers of the toolkit stay below two folders, so that everything else builds without it.
std::vector<std::string> CudaHeaderUsers(const std::vector<SourceFile>& files) {
  static const std::regex kHeader(
      "#include <(cu[a-z_]*\\w*\\.h|cublas|nvml|mma\\.h|cooperative_groups)");
  std::vector<std::string> users;
  for (const SourceFile& file : files) {
    const bool may = file.path.starts_with("kernels/cuda/") ||
                     file.path.starts_with("engine/backend/cuda/") ||
                     file.path == "tests/layers_test.cc";
    if (!may && std::regex_search(file.text, kHeader)) users.push_back(file.path);
  }
  return users;
}

TEST(Layers, TheToolkitIsSeenInTwoFoldersOnly) {
  EXPECT_EQ(CudaHeaderUsers(SourceFiles({".cc", ".h", ".inc", ".cu", ".cuh"})),
            std::vector<std::string>{});
  EXPECT_EQ(CudaHeaderUsers({{"engine/a.h", "#include <cuda_runtime_api.h>\n"},
                             {"kernels/cpu/b.cc", "#include <cublasLt.h>\n"},
                             {"kernels/cuda/c.cu", "#include <cuda_fp16.h>\n"}})
                .size(),
            2u);
}

// Whatever is captured into a graph neither allocates nor waits: an entry point only launches.
TEST(Layers, KernelsOfADeviceOnlyLaunch) {
  static const std::regex kForbidden(
      "\\bcuda(Malloc|Free|MallocAsync|FreeAsync|Memcpy|DeviceSynchronize|StreamSynchronize|"
      "EventSynchronize)\\s*\\(");
  for (const SourceFile& file : SourceFiles({".cu", ".cuh"})) {
    EXPECT_FALSE(std::regex_search(file.text, kForbidden)) << file.path;
  }
}

// A gate's value leaves the registry only through On(): nobody keeps a copy in a member or a
// global.
TEST(Layers, NobodyKeepsACopyOfAGate) {
  const std::regex stored("(static|bool|auto)\\s+\\w+_\\s*=\\s*[^;]*\\.On\\(");
  for (const SourceFile& file : Below("engine")) {
    EXPECT_FALSE(std::regex_search(file.text, stored)) << file.path;
  }
}

}  // namespace
}  // namespace fg
