#include "promotion/command_explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>

#include "base/nearest.h"
#include "gates/cells.h"

namespace flipgate {
namespace {

using fg::ErrorKind;
using fg::Json;
using fg::Status;

struct ExplainOptions {
  std::string what, bundle, matrix, hardware_class = "cpu";
};

// KIND, KIND/GATE or KIND/GATE/MODEL, each part known.
struct Subject {
  const EvidenceKind* kind = nullptr;
  const PairSpec* pair = nullptr;
  std::string model;
};

fg::Result<Subject> FindSubject(const Invocation& invocation, const Matrix& matrix,
                                const std::string& text, const std::string& hardware_class) {
  Subject subject;
  const size_t first = text.find('/');
  const std::string kind_name = text.substr(0, first);
  const std::vector<std::string> names = invocation.KindNames();
  for (const EvidenceKind& kind : invocation.services.kinds) {
    if (kind.name == kind_name) subject.kind = &kind;
  }
  if (subject.kind == nullptr) {
    return Status(ErrorKind::kUsage, fmt::format("unknown kind of evidence '{}'{}", kind_name,
                                                 fg::DidYouMean(kind_name, names)));
  }
  if (first == std::string::npos) return subject;
  const size_t second = text.find('/', first + 1);
  const std::string gate =
      text.substr(first + 1, second == std::string::npos ? second : second - first - 1);
  subject.pair = matrix.FindPair(kind_name, gate);
  if (subject.pair == nullptr) {
    return Status(ErrorKind::kUsage,
                  fmt::format("unknown gate '{}'{}", gate, fg::DidYouMean(gate, matrix.Rows())));
  }
  if (second == std::string::npos) return subject;
  subject.model = text.substr(second + 1);
  const std::vector<std::string> models = matrix.Models(*subject.pair, hardware_class);
  if (std::find(models.begin(), models.end(), subject.model) == models.end()) {
    return Status(ErrorKind::kUsage,
                  fmt::format("{}/{} has no model '{}'{}", kind_name, gate, subject.model,
                              fg::DidYouMean(subject.model, models)));
  }
  return subject;
}

Json AgreementJson(const Matrix& matrix, const EvidenceSpec& spec) {
  Json json = Json::object();
  for (const auto& [aspect, name] : spec.agreement) {
    Json entry = {{"name", name}};
    if (const Tolerance* tolerance = matrix.FindTolerance(name)) {
      entry["value"] = tolerance->value;
      entry["cause"] = tolerance->cause;
    }
    json[aspect.empty() ? "all" : aspect] = entry;
  }
  return json;
}

Json PairJson(const Matrix& matrix, const PairSpec& pair, const std::string& hardware_class) {
  const std::vector<std::string> models = matrix.Models(pair, hardware_class);
  const bool required = pair.status == PairSpec::Status::kRequired;
  if ((required && models.empty()) || !matrix.GateInScope(pair.gate, hardware_class) ||
      !matrix.KindInScope(pair.kind, hardware_class)) {
    return {{"out_of_scope", hardware_class}};
  }
  switch (pair.status) {
    case PairSpec::Status::kRequired:
      return {{"required", models}};
    case PairSpec::Status::kShared:
      return {{"shared_with", pair.shared_with}};
    case PairSpec::Status::kNotApplicable:
      return {{"not_applicable", pair.reason}};
  }
  return Json::object();
}

Json Meaning(const Matrix& matrix, const Subject& subject, const std::string& hardware_class) {
  const EvidenceKind& kind = *subject.kind;
  Json json = {{"kind", kind.name},
               {"question", kind.question},
               {"defends", kind.defends},
               {"independent_arm", kind.independent_arm},
               {"bisect", kind.bisect}};
  if (const EvidenceSpec* spec = matrix.FindEvidence(kind.name, hardware_class)) {
    json["agreement"] = AgreementJson(matrix, *spec);
    json["fields"] = spec->fields;
    json["timeout_ms"] = spec->timeout_ms;
  }
  for (const PairSpec& pair : matrix.pairs()) {
    const bool meant = subject.pair != nullptr ? &pair == subject.pair : pair.kind == kind.name;
    if (meant) json["pairs"][pair.gate] = PairJson(matrix, pair, hardware_class);
  }
  return json;
}

// Cells of the bundle that the subject means.
Json Endings(const Bundle& bundle, const Subject& subject) {
  const Json all = BundleToJson(bundle);
  Json endings = Json::array();
  for (const Json& cell : all["cells"]) {
    const bool meant = cell["kind"] == subject.kind->name &&
                       (subject.pair == nullptr || cell["gate"] == subject.pair->gate) &&
                       (subject.model.empty() || cell["model"] == subject.model);
    if (meant) endings.push_back(cell);
  }
  return endings;
}

std::string PairText(const Json& pair) {
  if (pair.contains("required"))
    return fmt::format("required on {}",
                       fmt::join(pair["required"].get<std::vector<std::string>>(), ", "));
  if (pair.contains("out_of_scope"))
    return "out of scope on class " + pair["out_of_scope"].get<std::string>();
  if (pair.contains("shared_with")) return "shared with " + pair["shared_with"].get<std::string>();
  return "not applicable: " + pair["not_applicable"].get<std::string>();
}

void PrintMeaning(std::ostream& out, const Json& meaning) {
  const auto text = [&](const char* name) { return meaning[name].get<std::string>(); };
  out << fmt::format("{}: {}\n", text("kind"), text("question"));
  out << fmt::format("  defends against   {}\n", text("defends"));
  out << fmt::format("  independent arm   {}\n", text("independent_arm"));
  out << fmt::format("  in a bisect       {}\n", text("bisect"));
  if (meaning.contains("agreement")) {
    for (const auto& [aspect, entry] : meaning["agreement"].items()) {
      const std::string limit =
          entry.contains("value")
              ? fmt::format(" ({}: {})", entry["value"].dump(), entry["cause"].get<std::string>())
              : "";
      out << fmt::format("  agreement         {}{}{}\n", aspect == "all" ? "" : aspect + ": ",
                         entry["name"].get<std::string>(), limit);
    }
    for (const auto& [name, value] : meaning["fields"].items())
      out << fmt::format("  {:17} {}\n", name, value.dump());
  }
  for (const auto& [gate, pair] : meaning["pairs"].items())
    out << fmt::format("  {:17} {}\n", gate, PairText(pair));
}

void PrintEnding(const Terminal& terminal, const Json& cell) {
  std::ostream& out = *terminal.out;
  const auto text = [&](const char* name) { return cell[name].get<std::string>(); };
  const std::string outcome = text("outcome");
  const auto tone = outcome == "pass" ? Terminal::Tone::kGood
                    : outcome == "fail" || outcome == "flaky" || outcome == "error"
                        ? Terminal::Tone::kBad
                        : Terminal::Tone::kDoubtful;
  out << fmt::format("\n{}/{}/{}: {}{}, {:.2f} s\n", text("kind"), text("gate"), text("model"),
                     terminal.Painted(outcome, tone), cell["waived"] == true ? " (waived)" : "",
                     cell["seconds"].get<double>());
  if (!text("reason").empty())
    out << fmt::format("  why       {}{}\n",
                       text("category").empty() ? "" : text("category") + ": ", text("reason"));
  if (!text("agreement").empty()) out << fmt::format("  agreement {}\n", text("agreement"));
  if (!cell["figures"].empty()) out << fmt::format("  figures   {}\n", cell["figures"].dump());
  if (!cell["runs"].empty()) out << fmt::format("  runs      {}\n", cell["runs"].dump());
  for (const Json& label : cell["labels"])
    out << fmt::format("  reached   {}\n", label.get<std::string>());
  for (const Json& record : cell["attachments"]) {
    out << fmt::format("  raw       {}: raw/{}\n", record["name"].get<std::string>(),
                       record["sha256"].get<std::string>());
  }
}

// The folder of a class's last run, from the project's root.
std::string LastRun(const std::string& hardware_class) {
  return hardware_class == "cpu" ? "out/latest" : "out/latest/" + hardware_class;
}

int Explain(const Invocation& invocation, const ExplainOptions& options) {
  const auto project = invocation.OpenProject();
  if (!project.ok()) return invocation.Fail(project.status());
  const auto matrix = invocation.OpenMatrix(*project, options.matrix);
  if (!matrix.ok()) return invocation.Fail(matrix.status());
  if (const auto declared = matrix->Class(options.hardware_class); !declared.ok())
    return invocation.Fail(declared.status());
  const auto subject = FindSubject(invocation, *matrix, options.what, options.hardware_class);
  if (!subject.ok()) return invocation.Fail(subject.status());
  // Without --bundle the last run speaks, where there is one.
  const std::string last = LastRun(options.hardware_class);
  const std::string path = options.bundle.empty() ? project->Path(last) : options.bundle;
  Json endings = Json::array();
  const bool wanted = !options.bundle.empty() || std::filesystem::exists(path + "/bundle.json");
  if (wanted) {
    if (const fg::Status there = RequireBundle(path); !there.ok()) return invocation.Fail(there);
    const auto bundle = LoadBundle(path);
    if (!bundle.ok()) return invocation.Fail(bundle.status());
    endings = Endings(*bundle, *subject);
  }
  Json meaning = Meaning(*matrix, *subject, options.hardware_class);
  if (invocation.json) {
    meaning["endings"] = endings;
    *invocation.terminal.out << meaning.dump(1) << "\n";
    return 0;
  }
  PrintMeaning(*invocation.terminal.out, meaning);
  for (const Json& cell : endings) PrintEnding(invocation.terminal, cell);
  if (!wanted)
    *invocation.terminal.out << "\nNot run yet: there is no " << last << "/bundle.json.\n";
  return 0;
}

}  // namespace

void RegisterExplain(CLI::App* app, Invocation* invocation) {
  CLI::App* command =
      app->add_subcommand("explain", "What a kind or a cell means, and how it ended");
  auto options = std::make_shared<ExplainOptions>();
  AddCommonOptions(command, invocation);
  command->add_option("WHAT", options->what, "KIND, KIND/GATE or KIND/GATE/MODEL")->required();
  command->add_option("--bundle", options->bundle, "A bundle; else out/latest")->type_name("PATH");
  command->add_option("--matrix", options->matrix, "Another matrix than the project's")
      ->type_name("FILE");
  command->add_option("--class", options->hardware_class, "Hardware class")
      ->type_name("CLASS")
      ->capture_default_str();
  command->callback([=] { invocation->action = [=] { return Explain(*invocation, *options); }; });
}

}  // namespace flipgate
