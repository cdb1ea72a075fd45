#include "promotion/command_verify.h"

#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "gates/verify.h"

namespace flipgate {
namespace {

using fg::Json;

Json ToJson(const std::string& path, const Verification& verification) {
  const bool intact = verification.failures.empty();
  Json json = {{"path", path},
               {"form", verification.form},
               {"intact", intact},
               {"failures", verification.failures},
               {"notes", verification.notes}};
  if (intact) {
    json["verdict"] = VerdictName(verification.bundle.Verdict().verdict);
    json["hardware_class"] = verification.bundle.header.hardware_class;
    json["counts"] = verification.bundle.Counts();
  }
  return json;
}

void PrintText(const Terminal& terminal, const std::string& path,
               const Verification& verification) {
  if (verification.failures.empty()) {
    const Bundle& bundle = verification.bundle;
    *terminal.out << fmt::format("{}: {} ({}); {} on {}, {} cells\n", path,
                                 terminal.Painted("intact", Terminal::Tone::kGood),
                                 verification.form, VerdictName(bundle.Verdict().verdict),
                                 bundle.header.hardware_class, bundle.Counts().at("cells"));
  } else {
    *terminal.out << fmt::format("{}: {}\n", path,
                                 terminal.Painted("damaged", Terminal::Tone::kBad));
    for (const std::string& failure : verification.failures)
      *terminal.out << "  " << failure << "\n";
  }
  for (const std::string& note : verification.notes) *terminal.out << "  note: " << note << "\n";
}

int Verify(const Invocation& invocation, const std::vector<std::string>& paths) {
  std::vector<int> codes;
  Json all = Json::array();
  for (const std::string& path : paths) {
    if (const fg::Status there = RequireBundle(path); !there.ok()) return invocation.Fail(there);
    const auto verification = VerifyBundle(path);
    if (!verification.ok()) return invocation.Fail(verification.status());
    codes.push_back(verification->failures.empty() ? 0 : 1);
    if (invocation.json) {
      all.push_back(ToJson(path, *verification));
    } else {
      PrintText(invocation.terminal, path, *verification);
    }
  }
  if (invocation.json) *invocation.terminal.out << all.dump(1) << "\n";
  return CombinedExitCode(codes);
}

}  // namespace

void RegisterVerify(CLI::App* app, Invocation* invocation) {
  CLI::App* command =
      app->add_subcommand("verify", "Checks bundles: schema, sums, counts, verdict");
  auto paths = std::make_shared<std::vector<std::string>>();
  AddCommonOptions(command, invocation);
  command->add_option("BUNDLE", *paths, "A bundle's folder, its archive, or its bundle.json")
      ->required();
  command->callback([=] { invocation->action = [=] { return Verify(*invocation, *paths); }; });
}

}  // namespace flipgate
