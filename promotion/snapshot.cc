#include "promotion/snapshot.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/file_lock.h"
#include "base/process.h"
#include "base/sha256.h"
#include "gates/engine_client.h"
#include "promotion/defaults.h"
#include "promotion/hashes.h"
#include "promotion/pack_stamp.h"
#include "promotion/worktree.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;
using fg::ErrorKind;
using fg::Json;
using fg::Result;
using fg::Status;

constexpr std::chrono::minutes kBuildLimit{60};

// A kept program: the file, and beside it what it was when it was built.
struct Entry {
  std::string folder, program, meta;
};

Entry EntryOf(const Project& project, const SnapshotPin& pin, const std::string& commit) {
  const std::string key =
      fg::Sha256Hex(std::string_view(pin.engine + pin.defaults + commit)).substr(0, 24);
  const std::string folder = project.Path(project.cache) + "/snapshots/" + key;
  return {folder, folder + "/engine", folder + "/meta.json"};
}

std::string Filled(std::string word, const std::string& source, const std::string& build) {
  const std::pair<std::string, std::string> kWords[] = {
      {"{source}", source},
      {"{build}", build},
      {"{jobs}", std::to_string(std::max(1u, std::thread::hardware_concurrency()))}};
  for (const auto& [name, value] : kWords) {
    for (size_t at = word.find(name); at != std::string::npos;
         at = word.find(name, at + value.size())) {
      word.replace(at, name.size(), value);
    }
  }
  return word;
}

// Runs the recipe; its whole output goes to `log`.
Status RunRecipe(const Project& recipe, const std::string& source, const std::string& build,
                 const std::string& log) {
  std::string output;
  for (const BuildCommand& command : recipe.build) {
    fg::ProcessSpec spec;
    for (const std::string& word : command) spec.argv.push_back(Filled(word, source, build));
    spec.folder = source;
    spec.environment =
        fg::PassedEnvironment({"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "CC",
                               "CXX", "CUDACXX", "CMAKE_CXX_COMPILER_LAUNCHER", "CCACHE_DIR"});
    fg::RunProcessOptions options;
    options.timeout = kBuildLimit;
    FG_ASSIGN_OR_RETURN(const fg::ProcessOutput ran, fg::RunProcess(spec, options));
    output += "$ " + fmt::format("{}", fmt::join(command, " ")) + "\n" + ran.out + ran.err;
    FG_RETURN_IF_ERROR(fg::WriteFileAtomic(log, output));
    if (ran.timed_out || !ran.exit.ok()) {
      const std::string tail = output.size() > 600 ? output.substr(output.size() - 600) : output;
      return Status(
          ErrorKind::kIo,
          fmt::format("the snapshot's recipe failed ({}); the whole log is {}; its end:\n{}",
                      ran.timed_out ? "no end within an hour" : ran.exit.Text(), log, tail));
    }
  }
  return Status::Ok();
}

// What the program says of itself must be what was asked for.
Status CheckIdentity(const std::string& program, const SnapshotPin& pin,
                     const std::string& commit) {
  FG_ASSIGN_OR_RETURN(auto client,
                      EngineClient::Start({"snapshot", {program}},
                                          fg::PassedEnvironment({"PATH", "LD_LIBRARY_PATH"})));
  const Asked asked = client->Ask({{"request", "hello"}}, fg::After(std::chrono::seconds(60)));
  if (asked.state != AskState::kAnswer) return Status(ErrorKind::kIo, asked.message);
  const Json build = asked.answer.value("build", Json::object());
  const auto differs = [&](const char* what, const std::string& says, const std::string& wanted) {
    return Status(
        ErrorKind::kUsage,
        fmt::format("the snapshot built from commit {} says {} {}, but {} was asked for",
                    commit.substr(0, 12), what, says.empty() ? "(nothing)" : says, wanted));
  };
  if (build.value("engine_hash", "") != pin.engine)
    return differs("engine_hash", build.value("engine_hash", ""), pin.engine);
  if (build.value("defaults_hash", "") != pin.defaults)
    return differs("defaults_hash", build.value("defaults_hash", ""), pin.defaults);
  if (build.value("commit", "") != commit)
    return differs("commit", build.value("commit", ""), commit);
  if (build.value("dirty", true)) return differs("dirty", "true", "a clean build");
  return Status::Ok();
}

// The kept program of `entry`, when its sum is still the one that was booked.
Result<std::string> KeptSum(const Entry& entry) {
  FG_ASSIGN_OR_RETURN(const std::string text, fg::ReadFile(entry.meta));
  FG_ASSIGN_OR_RETURN(const Json meta, fg::ParseJson(text, entry.meta));
  FG_ASSIGN_OR_RETURN(const std::string sum, fg::Sha256File(entry.program));
  if (sum != meta.value("sha256", ""))
    return Status(ErrorKind::kUsage,
                  entry.program + ": its sum is not the one that was booked; it is built again");
  return sum;
}

Result<std::string> Build(const Git& git, const Project& project, const SnapshotPin& pin,
                          const std::string& commit, const Entry& entry) {
  FG_ASSIGN_OR_RETURN(const Worktree tree,
                      Worktree::Add(git, project.Path(project.cache) + "/worktrees", commit));
  FG_ASSIGN_OR_RETURN(const Project recipe, Project::Load(tree.path()));
  const std::string build = tree.path() + "/build/recipe";
  FG_RETURN_IF_ERROR(RunRecipe(recipe, tree.path(), build, entry.folder + "/build.log"));
  const std::string built = build + "/" + recipe.build_program;
  std::error_code error;
  const std::string temporary = entry.program + ".tmp." + std::to_string(::getpid());
  fs::copy_file(built, temporary, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(temporary, entry.program, error);
  if (error)
    return Status(ErrorKind::kIo,
                  built + ": the recipe ended well but left no such program: " + error.message());
  FG_RETURN_IF_ERROR(CheckIdentity(entry.program, pin, commit));
  FG_ASSIGN_OR_RETURN(const std::string sum, fg::Sha256File(entry.program));
  FG_RETURN_IF_ERROR(fg::WriteFileAtomic(
      entry.meta,
      Json{{"commit", commit}, {"engine", pin.engine}, {"defaults", pin.defaults}, {"sha256", sum}}
              .dump(1) +
          "\n"));
  return sum;
}

Status NotInHistory(const Git& git, const SnapshotPin& pin, const std::string& hardware_class) {
  std::string advice = "flipgate.yaml names a state that no ancestor of HEAD has";
  const auto shallow = git.Shallow();
  if (shallow.ok() && *shallow) {
    advice =
        "this clone is shallow: run `git fetch --unshallow`, for the snapshot is built from its "
        "commit";
  }
  return Status(
      ErrorKind::kUsage,
      fmt::format(
          "the snapshot of class '{}' (engine {}..., defaults {}...) is not in this history; {}",
          hardware_class, pin.engine.substr(0, 12), pin.defaults.substr(0, 12), advice));
}

std::string NoPin(const std::string& hardware_class) {
  return "flipgate.yaml names no snapshot for class '" + hardware_class + "'";
}

// What a packed folder took along.
Result<Snapshot> PackedSnapshotOf(const Project& project, const PackStamp& stamp,
                                  const std::string& hardware_class) {
  Snapshot snapshot;
  const auto packed = stamp.snapshots.find(hardware_class);
  if (packed == stamp.snapshots.end()) {
    snapshot.record.absent = NoPin(hardware_class);
    return snapshot;
  }
  snapshot.record = packed->second.record;
  if (!snapshot.record.absent.empty()) return snapshot;
  const std::string kept = PackedSnapshotPath(hardware_class);
  const auto sum = fg::Sha256File(project.Path(kept));
  if (!sum.ok() || *sum != snapshot.record.program_sha256) {
    return Status(ErrorKind::kUsage,
                  kept + ": is not the program that was packed; unpack the folder again");
  }
  snapshot.program = project.Path(packed->second.program);
  return snapshot;
}

}  // namespace

Result<std::string> FindRevision(const Git& git, const Project& project, const SnapshotPin& pin,
                                 const std::string& hardware_class) {
  FG_ASSIGN_OR_RETURN(const auto commits, git.Ancestors("HEAD"));
  for (const std::string& commit : commits) {
    FG_ASSIGN_OR_RETURN(const std::string engine, git.TreeHash(commit, project.engine_paths));
    if (engine != pin.engine) continue;
    // A commit of early history may lack the file; it is none then.
    const auto text = git.Show(commit, project.defaults);
    if (!text.ok()) continue;
    const auto rows = ReadDefaults(*text, project.defaults, hardware_class);
    if (rows.ok() && DefaultsHash(*rows) == pin.defaults) return commit;
  }
  return std::string();
}

SnapshotState InspectSnapshot(const Project& project, const std::string& hardware_class) {
  SnapshotState state;
  if (const auto stamp = FindPackStamp(project.root); stamp.ok() && *stamp) {
    const auto packed = PackedSnapshotOf(project, **stamp, hardware_class);
    state.missing = packed.status().message();
    if (!packed.ok()) return state;
    state.absent = packed->record.absent;
    state.commit = packed->record.commit;
    state.kept = state.absent.empty();
    return state;
  }
  const auto pinned = project.snapshots.find(hardware_class);
  if (pinned == project.snapshots.end()) {
    state.absent = NoPin(hardware_class);
    return state;
  }
  const Git git(project.root);
  const auto commit = FindRevision(git, project, pinned->second, hardware_class);
  const auto head = HashRevision(git, project, "HEAD", hardware_class);
  if (!commit.ok() || !head.ok()) {
    state.missing = commit.ok() ? head.status().message() : commit.status().message();
  } else if (commit->empty()) {
    state.missing = NotInHistory(git, pinned->second, hardware_class).message();
  } else if (head->engine == pinned->second.engine && head->defaults == pinned->second.defaults) {
    state.absent = "nothing to contrast: the snapshot is this very state";
  } else {
    state.commit = *commit;
    state.kept = KeptSum(EntryOf(project, pinned->second, *commit)).ok();
  }
  return state;
}

Result<Snapshot> ObtainSnapshot(const Project& project, const std::string& hardware_class,
                                const std::function<void(const std::string&)>& note) {
  FG_ASSIGN_OR_RETURN(const auto stamp, FindPackStamp(project.root));
  if (stamp) return PackedSnapshotOf(project, *stamp, hardware_class);
  Snapshot snapshot;
  const auto pinned = project.snapshots.find(hardware_class);
  if (pinned == project.snapshots.end()) {
    snapshot.record.absent = NoPin(hardware_class);
    return snapshot;
  }
  const SnapshotPin& pin = pinned->second;
  const Git git(project.root);
  FG_ASSIGN_OR_RETURN(const std::string commit, FindRevision(git, project, pin, hardware_class));
  if (commit.empty()) return NotInHistory(git, pin, hardware_class);
  snapshot.record.engine = pin.engine;
  snapshot.record.defaults = pin.defaults;
  snapshot.record.commit = commit;
  FG_ASSIGN_OR_RETURN(const RevisionHashes head,
                      HashRevision(git, project, "HEAD", hardware_class));
  if (head.engine == pin.engine && head.defaults == pin.defaults) {
    snapshot.record.absent = "nothing to contrast: the snapshot is this very state";
    return snapshot;
  }
  const Entry entry = EntryOf(project, pin, commit);
  FG_RETURN_IF_ERROR(fg::MakeFolders(entry.folder));
  // One builder at a time per entry; a second one waits and then finds what the first built.
  FG_ASSIGN_OR_RETURN(const fg::FileLock lock, fg::FileLock::Take(entry.folder + "/lock"));
  auto sum = KeptSum(entry);
  if (!sum.ok()) {
    note("building the snapshot of class " + hardware_class + " from commit " +
         commit.substr(0, 12));
    sum = Build(git, project, pin, commit, entry);
    if (!sum.ok()) return sum.status();
  }
  snapshot.program = entry.program;
  snapshot.record.program_sha256 = *sum;
  return snapshot;
}

}  // namespace flipgate
