#include "promotion/run_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "gates/waivers.h"
#include "promotion/defaults.h"
#include "promotion/pack_stamp.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;
using fg::ErrorKind;
using fg::Result;
using fg::Status;

Result<std::string> HashMatrix(const Project& project, const Matrix& matrix,
                               const std::string& hardware_class) {
  return matrix.Hash(hardware_class, [&](const std::string& path) -> Result<std::string> {
    if (fs::is_regular_file(project.Path(path))) return GitBlobId(project.Path(path));
    return Status(ErrorKind::kUsage,
                  path + ": there is no such file, but a model of the matrix is made from it");
  });
}

Result<std::vector<std::string>> SubjectCommand(const Project& project, const Matrix& matrix,
                                                const std::string& name) {
  for (const SubjectSpec& subject : matrix.subjects()) {
    if (subject.name != name) continue;
    std::vector<std::string> command = subject.command;
    for (std::string& word : command) {
      const size_t at = word.find("{project}");
      if (at != std::string::npos) word.replace(at, 9, project.root);
    }
    return command;
  }
  return Status(ErrorKind::kUsage,
                fmt::format("--subject {}: the matrix names no such subject", name));
}

// Whether a packed folder's evidence is of no commit; `note` gets what was changed in it.
Result<bool> PackIsDirty(const Project& project,
                         const std::function<void(const std::string&)>& note) {
  FG_ASSIGN_OR_RETURN(const auto stamp, FindPackStamp(project.root));
  if (!stamp) return false;
  FG_ASSIGN_OR_RETURN(const auto changed, ChangedFiles(project.root, *stamp));
  if (!changed.empty()) note(ChangedNote(changed));
  if (stamp->dirty) note("this folder was packed from a tree with changes that no commit has");
  return stamp->dirty || !changed.empty();
}

}  // namespace

void AddRunFlags(CLI::App* command, RunFlags* flags) {
  command->add_option("--matrix", flags->matrix, "Another matrix than the project's")
      ->type_name("FILE");
  command->add_option("--class", flags->hardware_class, "Hardware class")
      ->type_name("CLASS")
      ->capture_default_str();
  command->add_option("--subject", flags->subject, "A subject of the matrix")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--engine", flags->engine, "Head's engine; else the project's")
      ->type_name("PATH");
  command->add_option("--jobs", flags->jobs, "Cells at a time; else one a processor")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--models", flags->models,
                   "Folder that keeps model variants; else below the project's cache")
      ->type_name("DIR");
}

Result<std::vector<std::string>> EngineCommandOf(const Project& project, const Matrix& matrix,
                                                 const RunFlags& flags) {
  if (flags.subject != "default") return SubjectCommand(project, matrix, flags.subject);
  const std::string path =
      flags.engine.empty() ? project.Path(project.engine) : fs::absolute(flags.engine).string();
  if (fs::is_regular_file(path)) return std::vector<std::string>{path};
  const std::string advice =
      flags.engine.empty() ? "; build it with scripts/gate, or give --engine PATH" : "";
  return Status(ErrorKind::kUsage,
                fmt::format("{}: there is no such engine{}",
                            flags.engine.empty() ? project.engine : flags.engine, advice));
}

std::string OutFolder(const Project& project, const RunFlags& flags, const std::string& name) {
  if (!flags.out.empty()) return fs::absolute(flags.out).lexically_normal().string();
  return project.Path(flags.hardware_class == "cpu" ? name : name + "/" + flags.hardware_class);
}

Result<RunOptions> MakeRunOptions(const Invocation& invocation, const RunFlags& flags,
                                  const std::function<void(const std::string&)>& note) {
  RunOptions options;
  FG_ASSIGN_OR_RETURN(options.project, invocation.OpenProject());
  const Project& project = options.project;
  FG_ASSIGN_OR_RETURN(options.dirty, PackIsDirty(project, note));
  FG_ASSIGN_OR_RETURN(options.matrix, invocation.OpenMatrix(project, flags.matrix));
  FG_RETURN_IF_ERROR(CheckClass(project, flags.hardware_class));
  FG_ASSIGN_OR_RETURN(const ClassSpec of_class, options.matrix.Class(flags.hardware_class));
  options.hardware_class = flags.hardware_class;
  if (!flags.models.empty())
    options.models = fs::absolute(flags.models).lexically_normal().string();
  options.selection = {.cells = flags.cells, .without = flags.without};
  FG_RETURN_IF_ERROR(SelectCells(options.matrix, flags.hardware_class, options.selection).status());
  FG_ASSIGN_OR_RETURN(options.waivers, LoadWaivers(project.Path(project.waivers), project.waivers,
                                                   options.matrix, flags.hardware_class));
  FG_ASSIGN_OR_RETURN(options.engine, EngineCommandOf(project, options.matrix, flags));
  options.subject = flags.subject;
  options.fault = flags.fault;
  options.jobs = flags.jobs > 0 ? flags.jobs : std::max(1u, std::thread::hardware_concurrency());
  // A self-check's runs side by side would meet on the device as well.
  if (of_class.cells > 0) options.jobs = std::min(options.jobs, of_class.cells);
  auto hashes = invocation.services.hashes(project, flags.hardware_class);
  if (hashes.ok()) {
    options.hashes = *hashes;
  } else {
    note("no hashes of this state: " + hashes.status().message());
  }
  FG_ASSIGN_OR_RETURN(options.hashes.matrix,
                      HashMatrix(project, options.matrix, flags.hardware_class));
  FG_ASSIGN_OR_RETURN(const Snapshot snapshot,
                      invocation.services.snapshot(project, flags.hardware_class, note));
  options.snapshot_program = snapshot.program;
  options.snapshot = snapshot.record;
  options.on_note = note;
  return options;
}

}  // namespace flipgate
