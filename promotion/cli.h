// The program flipgate: what its commands share. Each command is one file, command_NAME.{h,cc},
// that registers itself with a CLI11 application. Exit codes: docs/design.md "Using it".
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "gates/bundle.h"
#include "gates/evidence.h"
#include "gates/matrix.h"
#include "gates/project.h"
#include "gates/runner.h"
#include "promotion/faults.h"
#include "promotion/snapshot.h"

namespace flipgate {

inline constexpr int kExitUsage = 2;
inline constexpr int kExitError = 4;
inline constexpr int kExitSkip = 77;  // CTest's word for a skipped test

// What the commands call; a test gives its own.
struct Services {
  std::vector<EvidenceKind> kinds;
  std::function<fg::Result<RunSummary>(const RunOptions&)> run;
  std::function<fg::Result<Snapshot>(const Project&, const std::string& hardware_class,
                                     const std::function<void(const std::string&)>& note)>
      snapshot;
  // All but `matrix`, of HEAD. kIo where the project is no git repository.
  std::function<fg::Result<BundleHashes>(const Project&, const std::string& hardware_class)> hashes;
  // The planted faults of an engine (its program and arguments).
  std::function<fg::Result<std::vector<PlantedFault>>(const std::vector<std::string>& engine)>
      faults;
};
Services RealServices();

// Where text goes. Colour only decorates words that say the same without it.
struct Terminal {
  std::ostream* out = nullptr;
  std::ostream* err = nullptr;
  bool color = false;  // on a terminal, TERM not dumb, NO_COLOR not set
  bool live = false;   // a line may be overwritten

  enum class Tone { kGood, kBad, kDoubtful, kQuiet };
  std::string Painted(const std::string& text, Tone tone) const;
};

// One invocation: options that all commands have, and the action that the chosen command left.
struct Invocation {
  Terminal terminal;
  Services services;
  std::string project_folder;            // --project
  bool json = false;                     // --json
  std::vector<std::string> environment;  // of this process, "NAME=value"
  // FG_ variables of the caller's are an error, except to a command that tells of them itself.
  bool refuses_variables = true;
  std::function<int()> action;

  std::vector<std::string> KindNames() const;
  // Prints "flipgate: MESSAGE" to standard error; with --json an object with `error` and `exit` to
  // standard output as well. Returns 2 for kUsage, else 4.
  int Fail(const fg::Status& status) const;
  fg::Result<Project> OpenProject() const;
  // The matrix at `path` (from the caller's folder), or the project's own where it is empty.
  fg::Result<Matrix> OpenMatrix(const Project& project, const std::string& path) const;
};

// The FG_ variables of an environment, sorted, but for the one that is passed on to engines.
std::vector<std::string> StrayVariables(const std::vector<std::string>& environment);

// kUsage "PATH: there is no such bundle" unless `path` is a file or a folder with bundle.json.
fg::Status RequireBundle(const std::string& path);

using RegisterCommand = void (*)(CLI::App* app, Invocation* invocation);
const std::vector<RegisterCommand>& AllCommands();  // commands.cc

// Adds --json, --project to a command.
void AddCommonOptions(CLI::App* command, Invocation* invocation);

// `arguments` without the program's name; `environment` is this process's ("NAME=value").
int RunCli(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
           const Terminal& terminal, Services services);

}  // namespace flipgate
