#include "promotion/command_stamp.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <ostream>

#include "base/file.h"
#include "base/process.h"
#include "promotion/defaults.h"
#include "promotion/doctor.h"
#include "promotion/hashes.h"
#include "promotion/pack_stamp.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;
using fg::ErrorKind;
using fg::Json;
using fg::Result;
using fg::Status;

struct Options {
  std::string folder, program = "bin/fg-engine";
  bool allow_dirty = false;
};

// What the tree has that no commit has, one a line, at most six.
Result<std::string> Changes(const Git& git) {
  FG_ASSIGN_OR_RETURN(const std::string listing,
                      git.Run({"status", "--porcelain", "--untracked-files=all"}));
  size_t end = 0;
  for (int line = 0; line < 6 && end != std::string::npos; ++line)
    end = listing.find('\n', end + (line > 0));
  return listing.substr(0, end);
}

// Why head's program in the folder is not that of the commit; "" where it is.
Result<std::string> WhyStale(const std::string& program, const std::string& engine) {
  FG_ASSIGN_OR_RETURN(const Json hello, AskHello({program}));
  const Json build = hello.value("build", Json::object());
  if (build.value("engine_hash", "") != engine)
    return fmt::format("was built from engine {}, the commit has {}",
                       build.value("engine_hash", "").substr(0, 12), engine.substr(0, 12));
  if (build.value("dirty", true)) return std::string("was built with changes that no commit has");
  return std::string();
}

// Copies the snapshot's program, with the start that finds the folder's libraries.
Result<PackedSnapshot> TakeSnapshot(const Snapshot& snapshot, const std::string& hardware_class,
                                    const std::string& folder) {
  PackedSnapshot packed{.record = snapshot.record, .program = ""};
  if (snapshot.program.empty()) return packed;
  const fs::path engine = fs::path(folder) / PackedSnapshotPath(hardware_class);
  const fs::path start = engine.parent_path() / "run";
  FG_RETURN_IF_ERROR(fg::MakeFolders(engine.parent_path().string()));
  FG_RETURN_IF_ERROR(fg::WriteFileAtomic(
      start.string(),
      "#!/bin/sh\n# The snapshot, with the libraries of this folder.\nhere=${0%/*}\n"
      "LD_LIBRARY_PATH=$here/../../lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "
      "exec \"$here/engine\" \"$@\"\n"));
  std::error_code error;
  fs::copy_file(snapshot.program, engine, fs::copy_options::overwrite_existing, error);
  for (const fs::path& file : {start, engine}) {
    if (error) break;
    fs::permissions(file, fs::perms(0755), error);
  }
  if (error) return Status(ErrorKind::kIo, engine.string() + ": " + error.message());
  packed.program = start.lexically_relative(folder).string();
  return packed;
}

Result<PackStamp> MakeStamp(const Invocation& invocation, const Project& project,
                            const Options& options) {
  const Git git(project.root);
  PackStamp stamp;
  stamp.program = options.program;
  FG_ASSIGN_OR_RETURN(stamp.commit, git.Resolve("HEAD"));
  FG_ASSIGN_OR_RETURN(const std::string changes, Changes(git));
  FG_ASSIGN_OR_RETURN(const std::string text, git.Show("HEAD", project.defaults));
  FG_ASSIGN_OR_RETURN(const auto classes, ReadClasses(text, project.defaults));
  for (const std::string& name : classes) {
    FG_ASSIGN_OR_RETURN(const RevisionHashes head, HashRevision(git, project, "HEAD", name));
    stamp.defaults[name] = head.defaults;
    stamp.engine = head.engine;
    stamp.suite = head.suite;
    stamp.recipe = head.recipe;
  }
  FG_ASSIGN_OR_RETURN(
      const std::string stale,
      WhyStale((fs::path(options.folder) / options.program).string(), stamp.engine));
  stamp.dirty = !changes.empty() || !stale.empty();
  if (stamp.dirty && !options.allow_dirty) {
    return Status(
        ErrorKind::kUsage,
        (changes.empty() ? options.program + " " + stale
                         : "the tree has changes that no commit has:\n" + changes + "\n") +
            "; commit and build first, or give --allow-dirty: its evidence counts as dirty");
  }
  for (const auto& [name, pin] : project.snapshots) {
    FG_ASSIGN_OR_RETURN(const Snapshot snapshot,
                        invocation.services.snapshot(project, name, [&](const std::string& line) {
                          *invocation.terminal.err << line << "\n" << std::flush;
                        }));
    FG_ASSIGN_OR_RETURN(stamp.snapshots[name], TakeSnapshot(snapshot, name, options.folder));
  }
  FG_ASSIGN_OR_RETURN(stamp.files, SumFiles(options.folder));
  return stamp;
}

int RunStamp(const Invocation& invocation, const Options& options) {
  fg::KillChildrenOnSignals();
  const auto project = invocation.OpenProject();
  if (!project.ok()) return invocation.Fail(project.status());
  const auto stamp = MakeStamp(invocation, *project, options);
  if (!stamp.ok()) return invocation.Fail(stamp.status());
  const std::string path = options.folder + "/" + kStampName;
  if (const Status wrote = fg::WriteFileAtomic(path, PackStampText(*stamp)); !wrote.ok())
    return invocation.Fail(wrote);
  if (invocation.json) {
    *invocation.terminal.out << PackStampText(*stamp);
  } else {
    *invocation.terminal.out << fmt::format("stamped {} files of commit {}{}\n",
                                            stamp->files.size(), stamp->commit.substr(0, 12),
                                            stamp->dirty ? ", dirty" : "");
  }
  return 0;
}

}  // namespace

void RegisterStamp(CLI::App* app, Invocation* invocation) {
  CLI::App* command = app->add_subcommand(
      "stamp", "Books a packed folder: hashes of HEAD and sums of files (scripts/pack)");
  auto options = std::make_shared<Options>();
  AddCommonOptions(command, invocation);
  command->add_option("FOLDER", options->folder, "What is packed, beside the snapshots")
      ->required();
  command->add_option("--program", options->program, "Head's program in it")
      ->type_name("PATH")
      ->capture_default_str();
  command->add_flag("--allow-dirty", options->allow_dirty,
                    "Take a state that no commit has; its evidence counts as dirty");
  command->callback([=] { invocation->action = [=] { return RunStamp(*invocation, *options); }; });
}

}  // namespace flipgate
