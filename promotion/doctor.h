// What is missing or in the way on this machine, before anything is measured.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "gates/matrix.h"
#include "gates/project.h"

namespace flipgate {

struct Finding {
  enum class Level { kOk, kWarn, kFail };
  std::string name;
  Level level = Level::kOk;
  std::string text;
  std::string advice;  // what to do; "" where nothing is to be done
};
const char* LevelName(Finding::Level level);  // "ok", "warn", "fail"

using Findings = std::vector<Finding>;

// Variables that would reach, or seem to reach, an engine.
Findings CheckVariables(const std::vector<std::string>& environment);
// The programs that the project names, and those of its recipe and of its page, with versions.
Findings CheckTools(const Project& project);
// The working tree against the commit.
Findings CheckTree(const Project& project);
// Head's program: there, built from this checkout, of the gates that the matrix names, on a
// processor with levels to compare. `hello` is its answer.
Findings CheckBuild(const Project& project, const Matrix& matrix, const std::string& hardware_class,
                    const fg::Json& hello);
// Model files and variants in the cache, those of the class.
Findings CheckModels(const Project& project, const Matrix& matrix,
                     const std::string& hardware_class);
Findings CheckSnapshotHere(const Project& project, const std::string& hardware_class);

// The machine, as Linux tells it; `proc` is /proc, or a test's folder.
Findings CheckMachine(const std::string& proc, const std::string& folder, unsigned processors);

// hello of `engine` (program and arguments), started with the words `probe`. kIo names how it
// ended.
fg::Result<fg::Json> AskHello(const std::vector<std::string>& engine,
                              const std::vector<std::string>& probe = {"probe"});

}  // namespace flipgate
