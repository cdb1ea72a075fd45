// From a command line to the options of a run: shared by the commands that run cells.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "gates/runner.h"
#include "promotion/cli.h"

namespace flipgate {

struct RunFlags {
  std::string matrix, out, models, hardware_class = "cpu", fault, engine, subject = "default";
  std::vector<std::string> cells, without;
  int64_t jobs = 0;  // 0: as many as there are processors
  bool quiet = false;
};

// Adds --matrix, --class, --subject, --engine, --jobs and --models.
void AddRunFlags(CLI::App* command, RunFlags* flags);

// Head's program and its arguments before "probe": the subject's command, --engine, or the
// project's own. kUsage names what is not there.
fg::Result<std::vector<std::string>> EngineCommandOf(const Project& project, const Matrix& matrix,
                                                     const RunFlags& flags);

// The folder of the results: --out, else `name` below the project ("out/latest"; another class than
// cpu has CLASS below it).
std::string OutFolder(const Project& project, const RunFlags& flags, const std::string& name);

// All of RunOptions but on_cell: matrix, waivers, engine, hashes, snapshot (built where it is
// missing). `note` gets lines of progress. kUsage for what cannot be meant.
fg::Result<RunOptions> MakeRunOptions(const Invocation& invocation, const RunFlags& flags,
                                      const std::function<void(const std::string&)>& note);

}  // namespace flipgate
