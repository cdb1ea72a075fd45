#include "promotion/command_snapshot.h"

#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "base/process.h"
#include "promotion/defaults.h"

namespace flipgate {
namespace {

fg::Json ToJson(const Snapshot& snapshot, const std::string& hardware_class) {
  return {
      {"hardware_class", hardware_class},     {"program", snapshot.program},
      {"commit", snapshot.record.commit},     {"engine", snapshot.record.engine},
      {"defaults", snapshot.record.defaults}, {"program_sha256", snapshot.record.program_sha256},
      {"absent", snapshot.record.absent}};
}

int Obtain(const Invocation& invocation, const std::string& hardware_class) {
  fg::KillChildrenOnSignals();
  const auto project = invocation.OpenProject();
  if (!project.ok()) return invocation.Fail(project.status());
  if (const fg::Status known = CheckClass(*project, hardware_class); !known.ok())
    return invocation.Fail(known);
  const auto snapshot =
      invocation.services.snapshot(*project, hardware_class, [&](const std::string& line) {
        *invocation.terminal.err << line << "\n" << std::flush;
      });
  if (!snapshot.ok()) return invocation.Fail(snapshot.status());
  std::ostream& out = *invocation.terminal.out;
  const SnapshotRecord& record = snapshot->record;
  if (invocation.json) {
    out << ToJson(*snapshot, hardware_class).dump(1) << "\n";
  } else if (!record.absent.empty()) {
    out << fmt::format("no snapshot of class {}: {}\n", hardware_class, record.absent);
  } else {
    out << fmt::format("snapshot of class {}: commit {}, engine {}, defaults {}\n", hardware_class,
                       record.commit.substr(0, 12), record.engine.substr(0, 12),
                       record.defaults.substr(0, 12));
  }
  return 0;
}

}  // namespace

void RegisterSnapshot(CLI::App* app, Invocation* invocation) {
  CLI::App* command =
      app->add_subcommand("snapshot", "Finds or builds the older engine that head is held against");
  auto hardware_class = std::make_shared<std::string>("cpu");
  AddCommonOptions(command, invocation);
  command->add_option("--class", *hardware_class, "Hardware class")
      ->type_name("CLASS")
      ->capture_default_str();
  command->callback(
      [=] { invocation->action = [=] { return Obtain(*invocation, *hardware_class); }; });
}

}  // namespace flipgate
