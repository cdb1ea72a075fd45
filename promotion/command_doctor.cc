#include "promotion/command_doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <thread>

#include "promotion/defaults.h"
#include "promotion/doctor.h"
#include "promotion/run_setup.h"

namespace flipgate {
namespace {

using fg::Json;
using Level = Finding::Level;

// All that can be looked at: what fails early hides only what rests on it.
Findings Examine(const Invocation& invocation, const RunFlags& flags) {
  Findings all = CheckVariables(invocation.environment);
  const auto add = [&](const Findings& more) { all.insert(all.end(), more.begin(), more.end()); };
  const auto project = invocation.OpenProject();
  if (!project.ok()) {
    add({{"project", Level::kFail, project.status().message(), "go to the project's folder"}});
    return all;
  }
  add(CheckTools(*project));
  add(CheckTree(*project));
  add(CheckMachine("/proc", project->root, std::max(1u, std::thread::hardware_concurrency())));
  add(CheckSnapshotHere(*project, flags.hardware_class));
  const auto matrix = invocation.OpenMatrix(*project, flags.matrix);
  if (!matrix.ok()) {
    add({{"matrix", Level::kFail, matrix.status().message(), "mend the matrix"}});
    return all;
  }
  add({{"matrix", Level::kOk,
        fmt::format("{} cells on class {}", matrix->Cells(flags.hardware_class).size(),
                    flags.hardware_class),
        ""}});
  const auto of_class = matrix->Class(flags.hardware_class);
  if (!of_class.ok()) {
    add({{"class", Level::kFail, of_class.status().message(), "declare it in the matrix"}});
    return all;
  }
  add(CheckModels(*project, *matrix, flags.hardware_class));
  const auto engine = EngineCommandOf(*project, *matrix, flags);
  if (!engine.ok()) {
    add({{"build", Level::kFail, engine.status().message(), "scripts/gate builds it"}});
    return all;
  }
  const auto hello = AskHello(*engine, of_class->probe);
  if (!hello.ok()) {
    add({{"build", Level::kFail, hello.status().message(),
          of_class->device.empty() || of_class->device == "cpu"
              ? "build it again (scripts/gate)"
              : "mend what it names, or build it again (scripts/gate)"}});
    return all;
  }
  add(CheckBuild(*project, *matrix, flags.hardware_class, *hello));
  return all;
}

Terminal::Tone ToneOf(Level level) {
  switch (level) {
    case Level::kOk:
      return Terminal::Tone::kGood;
    case Level::kWarn:
      return Terminal::Tone::kDoubtful;
    case Level::kFail:
      break;
  }
  return Terminal::Tone::kBad;
}

void PrintText(const Terminal& terminal, const Findings& findings) {
  for (const Finding& finding : findings) {
    const std::string word = fmt::format("{:4}", LevelName(finding.level));
    *terminal.out << fmt::format("{} {}: {}{}\n", terminal.Painted(word, ToneOf(finding.level)),
                                 finding.name, finding.text,
                                 finding.advice.empty() ? "" : "; " + finding.advice);
  }
}

int Doctor(const Invocation& invocation, const RunFlags& flags) {
  const auto project = invocation.OpenProject();
  if (project.ok()) {
    if (const fg::Status known = CheckClass(*project, flags.hardware_class); !known.ok())
      return invocation.Fail(known);
  }
  const Findings findings = Examine(invocation, flags);
  const auto worst =
      std::max_element(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
        return a.level < b.level;
      })->level;
  const int code = worst == Level::kOk ? 0 : worst == Level::kWarn ? 3 : kExitUsage;
  if (!invocation.json) {
    PrintText(invocation.terminal, findings);
    return code;
  }
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"name", finding.name},
                    {"level", LevelName(finding.level)},
                    {"text", finding.text},
                    {"advice", finding.advice}});
  }
  *invocation.terminal.out << Json{{"findings", list}, {"exit", code}}.dump(1) << "\n";
  return code;
}

}  // namespace

void RegisterDoctor(CLI::App* app, Invocation* invocation) {
  CLI::App* command =
      app->add_subcommand("doctor", "What is missing or in the way here, and what to do");
  auto flags = std::make_shared<RunFlags>();
  AddCommonOptions(command, invocation);
  command->add_option("--matrix", flags->matrix, "Another matrix than the project's")
      ->type_name("FILE");
  command->add_option("--class", flags->hardware_class, "Hardware class")
      ->type_name("CLASS")
      ->capture_default_str();
  command->add_option("--engine", flags->engine, "Head's engine; else the project's")
      ->type_name("PATH");
  command->callback([=] {
    invocation->refuses_variables = false;
    invocation->action = [=] { return Doctor(*invocation, *flags); };
  });
}

}  // namespace flipgate
