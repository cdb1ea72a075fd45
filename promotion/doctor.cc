#include "promotion/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "base/process.h"
#include "base/sha256.h"
#include "gates/engine_client.h"
#include "gates/model_store.h"
#include "gates/run_context.h"
#include "promotion/cli.h"
#include "promotion/defaults.h"
#include "promotion/hashes.h"
#include "promotion/pack_stamp.h"
#include "promotion/snapshot.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;
using fg::Json;
using Level = Finding::Level;

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr double kMemoryWanted = 2, kDiskWanted = 2, kDiskNeeded = 0.2;  // GiB

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// "cmake version 3.25.1"; nothing where the program does not start.
std::optional<std::string> VersionOf(const std::string& program) {
  fg::ProcessSpec spec;
  spec.argv = {program, "--version"};
  spec.environment = fg::PassedEnvironment({"PATH", "HOME", "LANG"});
  const auto ran = fg::RunProcess(spec, {.timeout = std::chrono::seconds(20)});
  if (!ran.ok() || ran->timed_out || !ran->exit.ok()) return std::nullopt;
  return FirstLine(ran->out);
}

// A packed folder needs no compiler and no git; its page can be rendered elsewhere.
Findings CheckToolsOfPack(const Project& project) {
  const auto zip = VersionOf("gzip");
  Findings findings = {{"gzip", zip ? Level::kOk : Level::kFail,
                        zip ? *zip : "is not here or does not start", zip ? "" : "install it"}};
  if (project.report.empty()) return findings;
  const auto page = VersionOf(project.report[0]);
  findings.push_back({project.report[0], page ? Level::kOk : Level::kWarn,
                      page ? *page : "is not here or does not start",
                      page ? "" : "render the page where the project is (docs/gpu.md)"});
  return findings;
}

Findings CheckTreeOfPack(const Project& project, const PackStamp& stamp) {
  const std::string from = "packed from commit " + stamp.commit.substr(0, 12);
  const auto changed = ChangedFiles(project.root, stamp);
  if (!changed.ok()) return {{"tree", Level::kWarn, changed.status().message(), "unpack it again"}};
  if (!changed->empty()) return {{"tree", Level::kWarn, ChangedNote(*changed), "unpack it again"}};
  if (stamp.dirty) {
    return {{"tree", Level::kWarn, from + ", with changes that no commit has",
             "commit, and pack again, before a run that is to count"}};
  }
  return {{"tree", Level::kOk, from + ", as it was packed", ""}};
}

}  // namespace

const char* LevelName(Level level) {
  static constexpr const char* kNames[] = {"ok", "warn", "fail"};
  return kNames[static_cast<int>(level)];
}

Findings CheckVariables(const std::vector<std::string>& environment) {
  Findings findings;
  const std::vector<std::string> stray = StrayVariables(environment);
  if (stray.empty()) {
    findings.push_back({"variables", Level::kOk, "no FG_ variable is set here", ""});
  } else {
    findings.push_back(
        {"variables", Level::kFail,
         fmt::format("{} set here, which no run starts with", fmt::join(stray, ", ")),
         fmt::format("unset {}", fmt::join(stray, " "))});
  }
  const std::string cublas = "FG_CUBLASLT_PATH=";
  for (const std::string& entry : environment) {
    if (!entry.starts_with(cublas)) continue;
    const bool there = fs::exists(entry.substr(cublas.size()));
    findings.push_back({"FG_CUBLASLT_PATH", there ? Level::kOk : Level::kWarn,
                        there ? "is passed on to engines" : "names nothing that is there",
                        there ? "" : "point it to the folder of libcublasLt, or unset it"});
  }
  return findings;
}

Findings CheckTools(const Project& project) {
  if (const auto stamp = FindPackStamp(project.root); stamp.ok() && *stamp)
    return CheckToolsOfPack(project);
  std::vector<std::string> programs = project.tools;
  for (const BuildCommand& command : project.build) programs.push_back(command[0]);
  if (!project.report.empty()) programs.push_back(project.report[0]);
  programs.insert(programs.end(), {"git", "gzip"});  // this program's own
  Findings findings;
  std::set<std::string> seen;
  for (const std::string& program : programs) {
    if (program.find('{') != std::string::npos || !seen.insert(program).second) continue;
    const auto version = VersionOf(program);
    findings.push_back({program, version ? Level::kOk : Level::kFail,
                        version ? *version : "is not here or does not start",
                        version ? "" : "install it"});
  }
  return findings;
}

Findings CheckTree(const Project& project) {
  const auto stamp = FindPackStamp(project.root);
  if (!stamp.ok()) return {{"tree", Level::kFail, stamp.status().message(), "pack again"}};
  if (*stamp) return CheckTreeOfPack(project, **stamp);
  const Git git(project.root);
  const auto head = git.Resolve("HEAD");
  if (!head.ok()) {
    return {{"tree", Level::kWarn, "is no git repository: a run has no hashes",
             "work in a clone of the project"}};
  }
  std::vector<std::string> inputs = project.engine_paths;
  inputs.push_back(project.defaults);
  const auto dirty = git.Dirty(inputs);
  if (!dirty.ok()) return {{"tree", Level::kWarn, dirty.status().message(), "mend the repository"}};
  if (*dirty) {
    return {{"tree", Level::kWarn,
             "the engine's inputs differ from commit " + head->substr(0, 12) +
                 ": evidence would be of no commit",
             "commit or remove the changes before a run that is to count"}};
  }
  return {{"tree", Level::kOk, "as commit " + head->substr(0, 12) + " has it", ""}};
}

fg::Result<Json> AskHello(const std::vector<std::string>& engine,
                          const std::vector<std::string>& probe) {
  FG_ASSIGN_OR_RETURN(
      auto client,
      EngineClient::Start({"head", engine, probe},
                          fg::PassedEnvironment({"PATH", "LD_LIBRARY_PATH", "FG_CUBLASLT_PATH"})));
  Asked asked = client->Ask({{"request", "hello"}}, fg::After(std::chrono::seconds(60)));
  if (asked.state == AskState::kAnswer) return std::move(asked.answer);
  return fg::Status(fg::ErrorKind::kIo, asked.message);
}

Findings CheckBuild(const Project& project, const Matrix& matrix, const std::string& hardware_class,
                    const Json& hello) {
  Findings findings;
  const Json build = hello.value("build", Json::object());
  const auto head = HashHead(project, hardware_class);
  const std::string rebuild = "build it again (scripts/gate)";
  if (!head.ok()) {
    findings.push_back({"build", Level::kWarn, "cannot be held against a commit", ""});
  } else if (build.value("engine_hash", "") != head->engine) {
    findings.push_back(
        {"build", Level::kFail,
         fmt::format("is stale: built from engine {}, the checkout has {}",
                     build.value("engine_hash", "").substr(0, 12), head->engine.substr(0, 12)),
         rebuild});
  } else if (build.value("defaults_hash", "") != head->defaults) {
    findings.push_back({"build", Level::kFail, "is stale: built from other defaults", rebuild});
  } else {
    const bool dirty = build.value("dirty", true);
    findings.push_back({"build", dirty ? Level::kWarn : Level::kOk,
                        fmt::format("engine {}{}", head->engine.substr(0, 12),
                                    dirty ? ", with changes that no commit has" : ""),
                        dirty ? "commit, then " + rebuild : ""});
  }
  std::vector<std::string> known, named;
  for (const HelloGate& gate : HelloGates(hello)) known.push_back(gate.name);
  for (const GateSpec& gate : matrix.gates()) named.push_back(gate.name);
  std::sort(known.begin(), known.end());
  std::sort(named.begin(), named.end());
  findings.push_back({"gates", known == named ? Level::kOk : Level::kFail,
                      known == named ? fmt::format("{}, as the matrix names them", known.size())
                                     : fmt::format("the engine has [{}], the matrix names [{}]",
                                                   fmt::join(known, ", "), fmt::join(named, ", ")),
                      known == named ? "" : rebuild});
  const Json device = hello.value("device", Json::object());
  if (const std::string told = device.value("class", ""); told != hardware_class) {
    findings.push_back(
        {"device", Level::kFail,
         fmt::format("the engine runs on class '{}', not on '{}'", told, hardware_class),
         "give --class " + told + ", or go to a machine of the other"});
    return findings;
  }
  const auto levels = device.value("levels", std::vector<std::string>{});
  if (levels.empty()) {  // no processor: nothing to compare between levels
    const bool native = device.value("native", true);
    findings.push_back(
        {"device", native ? Level::kOk : Level::kWarn,
         fmt::format("{}; driver {}; {:.1f} GiB{}", device.value("name", "(no name)"),
                     device.value("driver", "(unknown)"), device.value("memory_bytes", 0.0) / kGiB,
                     native ? "" : "; compiled when it starts, unproven"),
         native ? "" : "build the engine for this device"});
    return findings;
  }
  findings.push_back(
      {"processor", levels.size() > 1 ? Level::kOk : Level::kWarn,
       fmt::format("{}; levels {}", device.value("name", "(no name)"), fmt::join(levels, ", ")),
       levels.size() > 1 ? "" : "levels cannot be compared here; use a processor with two"});
  return findings;
}

Findings CheckModels(const Project& project, const Matrix& matrix,
                     const std::string& hardware_class) {
  Findings findings;
  size_t right = 0, unmade = 0;
  for (const ModelSpec& model : matrix.models()) {
    if (!model.InScope(hardware_class)) continue;
    const std::string path = CachedModelPath(project, model);
    if (IsUnpinned(model)) {
      findings.push_back({"model " + model.name, Level::kFail, "the matrix pins no sum of it yet",
                          "`flipgate run --class " + hardware_class + "` says which to write"});
    } else if (!model.from.empty() && !fs::exists(project.Path(model.from))) {
      findings.push_back({"model " + model.name, Level::kFail, model.from + " is missing",
                          "bring the file back (git checkout, or its script)"});
    } else if (!fs::exists(path)) {
      ++unmade;
    } else if (const auto sum = fg::Sha256File(path); sum.ok() && *sum == model.sha256) {
      ++right;
    } else {
      findings.push_back({"model " + model.name, Level::kFail,
                          "the variant in the cache has another sum than the matrix pins",
                          "remove " + fs::path(path).lexically_relative(project.root).string()});
    }
  }
  findings.push_back(
      {"models", Level::kOk,
       fmt::format("{} variants with the right sum, {} that the first run makes", right, unmade),
       ""});
  return findings;
}

Findings CheckSnapshotHere(const Project& project, const std::string& hardware_class) {
  const SnapshotState state = InspectSnapshot(project, hardware_class);
  if (!state.missing.empty())
    return {{"snapshot", Level::kFail, state.missing, "see flipgate.yaml, snapshot"}};
  if (!state.absent.empty()) {
    return {{"snapshot", Level::kWarn, state.absent, "cells that need one are skipped"}};
  }
  return {{"snapshot", state.kept ? Level::kOk : Level::kWarn,
           fmt::format("commit {}{}", state.commit.substr(0, 12),
                       state.kept ? ", kept with its booked sum" : " is not built yet"),
           state.kept ? "" : "`flipgate snapshot --class " + hardware_class + "` builds it"}};
}

Findings CheckMachine(const std::string& proc, const std::string& folder, unsigned processors) {
  Findings findings;
  double available = 0;
  // Such a file has no size of its own to read by.
  std::ifstream memory(proc + "/meminfo");
  for (std::string line; std::getline(memory, line);) {
    if (line.starts_with("MemAvailable:")) available = std::atof(line.c_str() + 13) * 1024 / kGiB;
  }
  findings.push_back({"memory", available < kMemoryWanted ? Level::kWarn : Level::kOk,
                      fmt::format("{:.1f} GiB free", available),
                      available < kMemoryWanted ? "a run may need 2 GiB; end other programs" : ""});
  std::error_code error;
  const auto space = fs::space(folder, error);
  const double disk = error ? 0 : static_cast<double>(space.available) / kGiB;
  findings.push_back(
      {"disk",
       disk < kDiskNeeded   ? Level::kFail
       : disk < kDiskWanted ? Level::kWarn
                            : Level::kOk,
       fmt::format("{:.1f} GiB free below the project", disk),
       disk < kDiskWanted ? "make room: builds, variants and bundles lie there" : ""});
  double load = 0;
  std::ifstream(proc + "/loadavg") >> load;
  const bool busy = load > 0.5 * processors;
  findings.push_back({"load", busy ? Level::kWarn : Level::kOk,
                      fmt::format("{:.2f} on {} processors", load, processors),
                      busy ? "time limits and speeds suffer; wait, or end other programs" : ""});
  return findings;
}

}  // namespace flipgate
