#include "promotion/command_pack.h"

#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "gates/archive.h"

namespace flipgate {
namespace {

int Pack(const Invocation& invocation, const std::string& folder) {
  if (const fg::Status there = RequireBundle(folder); !there.ok()) return invocation.Fail(there);
  if (const fg::Status packed = ArchiveFolder(folder); !packed.ok()) return invocation.Fail(packed);
  const std::string path = folder + "/" + kArchiveName;
  if (invocation.json) {
    *invocation.terminal.out << fg::Json{{"archive", path}}.dump(1) << "\n";
  } else {
    *invocation.terminal.out << path << "\n";
  }
  return 0;
}

}  // namespace

void RegisterPack(CLI::App* app, Invocation* invocation) {
  CLI::App* command =
      app->add_subcommand("pack", "Writes a bundle's archive anew, its page included");
  auto folder = std::make_shared<std::string>();
  AddCommonOptions(command, invocation);
  command->add_option("FOLDER", *folder, "The bundle's folder")->required();
  command->callback([=] { invocation->action = [=] { return Pack(*invocation, *folder); }; });
}

}  // namespace flipgate
