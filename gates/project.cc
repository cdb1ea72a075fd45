#include "gates/project.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/file.h"
#include "gates/matrix_evidence.h"
#include "gates/yaml_document.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;
using fg::ErrorKind;
using fg::Result;
using fg::Status;

constexpr const char* kFileName = "flipgate.yaml";
constexpr const char* kBuildWord = "{build}/";

class ProjectLoader {
 public:
  ProjectLoader(const YamlDocument& document, std::string root) : document_(document) {
    project_.root = std::move(root);
  }

  Result<Project> Load() {
    FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, document_.root(), kFileName));
    FG_ASSIGN_OR_RETURN(const YamlNode* version, map.Required("version"));
    FG_ASSIGN_OR_RETURN(const int64_t number, document_.Integer(*version, "version"));
    if (number != 1) {
      return document_.Error(
          version->mark,
          fmt::format("this program reads version 1 of flipgate.yaml, not {}", number));
    }
    FG_ASSIGN_OR_RETURN(const YamlNode* engine, map.Required("engine"));
    FG_ASSIGN_OR_RETURN(const YamlNode* build, map.Required("build"));
    FG_ASSIGN_OR_RETURN(const YamlNode* suite, map.Required("suite"));
    const YamlNode* snapshot = map.Optional("snapshot");
    FG_RETURN_IF_ERROR(map.Finish());
    FG_RETURN_IF_ERROR(LoadBuild(*build));
    FG_RETURN_IF_ERROR(LoadEngine(*engine));
    FG_RETURN_IF_ERROR(LoadSuite(*suite));
    if (snapshot != nullptr) FG_RETURN_IF_ERROR(LoadSnapshots(*snapshot));
    return std::move(project_);
  }

 private:
  // A path of the project; `fallback` where the key is left out.
  Status Path(YamlMap* map, const std::string& block, const char* key, const std::string& fallback,
              std::string* out) {
    const YamlNode* node = map->Optional(key);
    if (node == nullptr) {
      *out = fallback;
      return fallback.empty() ? map->Required(key).status() : Status::Ok();
    }
    FG_ASSIGN_OR_RETURN(*out, ReadProjectPath(document_, *node, block + "." + key));
    return Status::Ok();
  }

  Result<std::vector<std::string>> Paths(const YamlNode& node, const std::string& what) {
    FG_ASSIGN_OR_RETURN(std::vector<std::string> paths, document_.Strings(node, what));
    if (paths.empty()) return document_.Error(node.mark, what + " must not be empty");
    for (const YamlNode& item : node.items) {
      FG_RETURN_IF_ERROR(ReadProjectPath(document_, item, "each of " + what).status());
    }
    return paths;
  }

  Result<BuildCommand> Command(const YamlNode& node, const std::string& what) {
    if (node.kind != YamlNode::Kind::kSequence || node.items.empty()) {
      return document_.Error(node.mark, what + " must be a list: a program and its arguments");
    }
    BuildCommand command;
    for (const YamlNode& word : node.items) {
      FG_ASSIGN_OR_RETURN(std::string text, document_.String(word, "each of " + what));
      command.push_back(std::move(text));
    }
    return command;
  }

  Status LoadBuild(const YamlNode& node) {
    FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, node, "build"));
    if (const YamlNode* configure = map.Optional("configure")) {
      FG_ASSIGN_OR_RETURN(BuildCommand command, Command(*configure, "build.configure"));
      project_.build.push_back(std::move(command));
    }
    FG_ASSIGN_OR_RETURN(const YamlNode* compile, map.Required("compile"));
    FG_ASSIGN_OR_RETURN(BuildCommand command, Command(*compile, "build.compile"));
    project_.build.push_back(std::move(command));
    FG_ASSIGN_OR_RETURN(const YamlNode* engine, map.Required("engine"));
    FG_RETURN_IF_ERROR(map.Finish());
    FG_ASSIGN_OR_RETURN(const std::string program, document_.String(*engine, "build.engine"));
    if (!program.starts_with(kBuildWord)) {
      return document_.Error(engine->mark,
                             "build.engine must begin with {build}/, is '" + program + "'");
    }
    project_.build_program = program.substr(std::string(kBuildWord).size());
    return Status::Ok();
  }

  Status LoadEngine(const YamlNode& node) {
    FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, node, "engine"));
    FG_ASSIGN_OR_RETURN(const YamlNode* paths, map.Required("paths"));
    FG_ASSIGN_OR_RETURN(project_.engine_paths, Paths(*paths, "engine.paths"));
    FG_RETURN_IF_ERROR(Path(&map, "engine", "defaults", "", &project_.defaults));
    FG_RETURN_IF_ERROR(
        Path(&map, "engine", "program", "build/" + project_.build_program, &project_.engine));
    return map.Finish();
  }

  Status LoadSuite(const YamlNode& node) {
    FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, node, "suite"));
    FG_ASSIGN_OR_RETURN(const YamlNode* paths, map.Required("paths"));
    FG_ASSIGN_OR_RETURN(project_.suite_paths, Paths(*paths, "suite.paths"));
    FG_RETURN_IF_ERROR(Path(&map, "suite", "matrix", "", &project_.matrix));
    FG_RETURN_IF_ERROR(Path(&map, "suite", "ledger", "", &project_.ledger));
    FG_RETURN_IF_ERROR(Path(&map, "suite", "proofs", "", &project_.proofs));
    const std::string beside_matrix =
        (fs::path(project_.matrix).parent_path() / "waivers.yaml").string();
    FG_RETURN_IF_ERROR(Path(&map, "suite", "waivers", beside_matrix, &project_.waivers));
    FG_RETURN_IF_ERROR(Path(&map, "suite", "cache", ".cache", &project_.cache));
    if (const YamlNode* tools = map.Optional("tools")) {
      FG_ASSIGN_OR_RETURN(project_.tools, document_.Strings(*tools, "suite.tools"));
    }
    if (const YamlNode* report = map.Optional("report")) {
      FG_ASSIGN_OR_RETURN(project_.report, Command(*report, "suite.report"));
    }
    return map.Finish();
  }

  Status LoadSnapshots(const YamlNode& node) {
    FG_RETURN_IF_ERROR(YamlMap::Open(document_, node, "snapshot").status());
    for (const YamlNode::Entry& entry : node.entries) {
      const std::string what = "snapshot." + entry.key;
      FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document_, entry.value, what));
      FG_ASSIGN_OR_RETURN(const YamlNode* engine, map.Required("engine"));
      FG_ASSIGN_OR_RETURN(const YamlNode* defaults, map.Required("defaults"));
      FG_RETURN_IF_ERROR(map.Finish());
      SnapshotPin pin;
      FG_ASSIGN_OR_RETURN(pin.engine, document_.Sha256(*engine, what + ".engine"));
      FG_ASSIGN_OR_RETURN(pin.defaults, document_.Sha256(*defaults, what + ".defaults"));
      project_.snapshots[entry.key] = pin;
    }
    return Status::Ok();
  }

  const YamlDocument& document_;
  Project project_;
};

}  // namespace

std::string Project::Path(const std::string& from_root) const {
  return (fs::path(root) / from_root).lexically_normal().string();
}

Result<Project> Project::Parse(std::string text, std::string file_name, std::string root) {
  FG_ASSIGN_OR_RETURN(const YamlDocument document,
                      YamlDocument::Parse(std::move(text), std::move(file_name)));
  return ProjectLoader(document, std::move(root)).Load();
}

Result<Project> Project::Load(const std::string& root) {
  const fs::path absolute = fs::absolute(root).lexically_normal();
  FG_ASSIGN_OR_RETURN(std::string text, fg::ReadFile((absolute / kFileName).string()));
  return Parse(std::move(text), kFileName, absolute.string());
}

Result<std::string> FindProjectRoot(const std::string& start) {
  std::error_code error;
  for (fs::path folder = fs::absolute(start).lexically_normal();; folder = folder.parent_path()) {
    if (fs::is_regular_file(folder / kFileName, error)) return folder.string();
    if (folder == folder.parent_path()) break;
  }
  return Status(
      ErrorKind::kUsage,
      fmt::format("no flipgate.yaml in {} or above it; go to the project, or give --project FOLDER",
                  fs::absolute(start).lexically_normal().string()));
}

}  // namespace flipgate
