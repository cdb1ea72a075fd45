#include "promotion/cli.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/nearest.h"
#include "promotion/pack_stamp.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;
using fg::ErrorKind;
using fg::Result;
using fg::Status;

constexpr const char* kDescription =
    "Decides, by measurement, whether a default may flip.\n"
    "Exit codes: 0 proven or done, 1 refuted or damaged, 2 usage or configuration, 3 unproven, "
    "4 error of the harness or the machine.";

// Engines would inherit such a variable, or the caller believes that they do: either way the run
// would not be what it says.
Status CheckEnvironment(const std::vector<std::string>& environment) {
  const std::vector<std::string> found = StrayVariables(environment);
  if (found.empty()) return Status::Ok();
  return Status(
      ErrorKind::kUsage,
      fmt::format(
          "{0} {1} set in this environment, but flipgate gives each engine its variables itself; "
          "unset {2} and run again: env -u {3} flipgate ...",
          fmt::join(found, ", "), found.size() == 1 ? "is" : "are",
          found.size() == 1 ? "it" : "them", fmt::join(found, " -u ")));
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> OptionNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// CLI11's word for a mistake, with the nearest option where one was misspelt.
std::string ParseMessage(const CLI::App& app, const CLI::ParseError& error,
                         const std::vector<std::string>& arguments) {
  const auto commands = app.get_subcommands();
  if (commands.empty()) return error.what();
  const std::vector<std::string> known = OptionNames(*commands[0]);
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    if (!name.starts_with("--") || std::find(known.begin(), known.end(), name) != known.end())
      continue;
    return fmt::format("{}: unknown option '{}'{}", commands[0]->get_name(), name,
                       fg::DidYouMean(name, known));
  }
  return commands[0]->get_name() + ": " + error.what();
}

int UsageError(const Terminal& terminal, const std::string& message) {
  *terminal.err << "flipgate: " << message << "\n";
  return kExitUsage;
}

// The project of a folder; one that was packed has head's program where its stamp says.
Result<Project> LoadProject(const std::string& root) {
  FG_ASSIGN_OR_RETURN(Project project, Project::Load(root));
  FG_ASSIGN_OR_RETURN(const auto stamp, FindPackStamp(project.root));
  if (stamp) project.engine = stamp->program;
  return project;
}

}  // namespace

std::vector<std::string> StrayVariables(const std::vector<std::string>& environment) {
  std::vector<std::string> found;
  for (const std::string& entry : environment) {
    const std::string name = entry.substr(0, entry.find('='));
    if (name.starts_with("FG_") && name != "FG_CUBLASLT_PATH") found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string Terminal::Painted(const std::string& text, Tone tone) const {
  static constexpr const char* kCodes[] = {"32", "31", "33", "2"};
  return color ? fmt::format("\033[{}m{}\033[0m", kCodes[static_cast<int>(tone)], text) : text;
}

std::vector<std::string> Invocation::KindNames() const {
  std::vector<std::string> names;
  for (const EvidenceKind& kind : services.kinds) names.push_back(kind.name);
  return names;
}

int Invocation::Fail(const Status& status) const {
  const int code = status.kind() == ErrorKind::kUsage ? kExitUsage : kExitError;
  *terminal.err << "flipgate: " << status.message() << "\n";
  if (json) *terminal.out << fg::Json{{"error", status.message()}, {"exit", code}}.dump(1) << "\n";
  return code;
}

Result<Project> Invocation::OpenProject() const {
  if (project_folder.empty()) {
    FG_ASSIGN_OR_RETURN(const std::string root, FindProjectRoot(fs::current_path().string()));
    return LoadProject(root);
  }
  if (!fs::is_regular_file(fs::path(project_folder) / "flipgate.yaml")) {
    return Status(ErrorKind::kUsage,
                  fmt::format("--project {}: holds no flipgate.yaml", project_folder));
  }
  return LoadProject(project_folder);
}

Result<Matrix> Invocation::OpenMatrix(const Project& project, const std::string& path) const {
  const std::string file = path.empty() ? project.Path(project.matrix) : path;
  if (!fs::is_regular_file(file)) {
    return Status(ErrorKind::kUsage,
                  fmt::format("{}: there is no such matrix", path.empty() ? project.matrix : path));
  }
  return Matrix::Load(file, path.empty() ? project.matrix : path, KindNames());
}

void AddCommonOptions(CLI::App* command, Invocation* invocation) {
  command->add_flag("--json", invocation->json, "Print one JSON value to standard output");
  command
      ->add_option("--project", invocation->project_folder,
                   "Folder of flipgate.yaml; else the nearest at or above this one")
      ->type_name("FOLDER");
}

Status RequireBundle(const std::string& path) {
  namespace fs = std::filesystem;
  const std::string file = fs::is_directory(path) ? path + "/bundle.json" : path;
  if (fs::exists(file)) return Status::Ok();
  return Status(fg::ErrorKind::kUsage, path + ": there is no such bundle");
}

int RunCli(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
           const Terminal& terminal, Services services) {
  CLI::App app(kDescription, "flipgate");
  app.set_version_flag("--version", std::string("flipgate ") + FLIPGATE_VERSION);
  Invocation invocation;
  invocation.terminal = terminal;
  invocation.services = std::move(services);
  for (const RegisterCommand add : AllCommands()) add(&app, &invocation);
  app.require_subcommand(1);
  if (!arguments.empty() && !arguments[0].starts_with("-")) {
    const std::vector<std::string> known = CommandNames(app);
    if (std::find(known.begin(), known.end(), arguments[0]) == known.end()) {
      return UsageError(terminal,
                        fmt::format("unknown command '{}'{}; commands are {}", arguments[0],
                                    fg::DidYouMean(arguments[0], known), fmt::join(known, ", ")));
    }
  }
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(),
                                       arguments.rend()));  // CLI11 takes them from the back
  } catch (const CLI::CallForHelp&) {
    const auto commands = app.get_subcommands();
    *terminal.out << (commands.empty() ? app.help() : commands[0]->help());
    return 0;
  } catch (const CLI::CallForVersion& version) {
    *terminal.out << version.what() << "\n";
    return 0;
  } catch (const CLI::ParseError& error) {
    return UsageError(terminal, ParseMessage(app, error, arguments));
  }
  invocation.environment = environment;
  if (const Status clean = CheckEnvironment(environment);
      !clean.ok() && invocation.refuses_variables)
    return invocation.Fail(clean);
  const int code = invocation.action();
  terminal.out->flush();
  if (terminal.out->good()) return code;
  // What nobody could read was not said.
  *terminal.err << "flipgate: standard output cannot be written\n";
  return kExitError;
}

}  // namespace flipgate
