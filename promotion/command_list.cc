#include "promotion/command_list.h"

#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "promotion/defaults.h"

namespace flipgate {
namespace {

using fg::Json;

struct ListOptions {
  std::string matrix, hardware_class = "cpu";
  bool cells = false;
};

std::string WhyNoCell(const BundlePair& pair) {
  switch (pair.status) {
    case BundlePair::Status::kShared:
      return "shared with " + pair.shared_with;
    case BundlePair::Status::kNotApplicable:
      return "not applicable: " + pair.reason;
    case BundlePair::Status::kOutOfScope:
      break;
  }
  return "out of scope on this class";
}

fg::Result<Json> ToJson(const Invocation& invocation, const Project& project, const Matrix& matrix,
                        const std::string& hardware_class) {
  const auto blob = [&](const std::string& path) -> fg::Result<std::string> {
    const auto id = GitBlobId(project.Path(path));
    return id.ok() ? *id : std::string();  // a model that is not there yet
  };
  FG_ASSIGN_OR_RETURN(Json json, matrix.Canonical(hardware_class, blob));
  for (const EvidenceKind& kind : invocation.services.kinds) {
    json["kinds"].push_back({{"name", kind.name},
                             {"question", kind.question},
                             {"defends", kind.defends},
                             {"independent_arm", kind.independent_arm},
                             {"bisect", kind.bisect}});
  }
  json["cells"] = Json::array();
  for (const CellId& cell : matrix.Cells(hardware_class)) json["cells"].push_back(cell.Text());
  return json;
}

void PrintText(const Invocation& invocation, const Matrix& matrix,
               const std::string& hardware_class) {
  std::ostream& out = *invocation.terminal.out;
  out << "Kinds of evidence\n";
  for (const EvidenceKind& kind : invocation.services.kinds)
    out << fmt::format("  {:16} {}\n", kind.name, kind.question);
  out << "\nGates\n";
  for (const GateSpec& gate : matrix.gates()) {
    out << fmt::format(
        "  {:16} {} bits{}{}\n", gate.name, gate.same_bits ? "same" : "other",
        gate.needs.empty() ? "" : fmt::format("; needs {}", fmt::join(gate.needs, ", ")),
        matrix.GateInScope(gate.name, hardware_class) ? "" : "; not built on this class");
  }
  out << "\nModels\n";
  for (const ModelSpec& model : matrix.models()) {
    if (!model.InScope(hardware_class)) continue;
    out << fmt::format("  {:16} {} as {}\n", model.name, model.Source(), model.quantize);
  }
  const std::vector<CellId> cells = matrix.Cells(hardware_class);
  out << fmt::format("\nCells on class {} ({})\n", hardware_class, cells.size());
  for (const CellId& cell : cells) out << "  " << cell.Text() << "\n";
  const std::vector<BundlePair> pairs = PairsWithoutCells(matrix, hardware_class);
  if (!pairs.empty()) out << fmt::format("\nPairs without cells ({})\n", pairs.size());
  for (const BundlePair& pair : pairs) {
    out << fmt::format("  {:32} {}\n", pair.kind + "/" + pair.gate, WhyNoCell(pair));
  }
}

int List(const Invocation& invocation, const ListOptions& options) {
  const auto project = invocation.OpenProject();
  if (!project.ok()) return invocation.Fail(project.status());
  const auto matrix = invocation.OpenMatrix(*project, options.matrix);
  if (!matrix.ok()) return invocation.Fail(matrix.status());
  if (const fg::Status known = CheckClass(*project, options.hardware_class); !known.ok())
    return invocation.Fail(known);
  if (const auto declared = matrix->Class(options.hardware_class); !declared.ok())
    return invocation.Fail(declared.status());
  if (matrix->Cells(options.hardware_class).empty()) {
    return invocation.Fail(
        fg::Status(fg::ErrorKind::kUsage,
                   fmt::format("the matrix holds no cell for class '{}'", options.hardware_class)));
  }
  if (options.cells) {
    for (const CellId& cell : matrix->Cells(options.hardware_class))
      *invocation.terminal.out << cell.Text() << "\n";
  } else if (invocation.json) {
    const auto json = ToJson(invocation, *project, *matrix, options.hardware_class);
    if (!json.ok()) return invocation.Fail(json.status());
    *invocation.terminal.out << json->dump(1) << "\n";
  } else {
    PrintText(invocation, *matrix, options.hardware_class);
  }
  return 0;
}

}  // namespace

void RegisterList(CLI::App* app, Invocation* invocation) {
  CLI::App* command = app->add_subcommand("list", "What there is: kinds, gates, models, cells");
  auto options = std::make_shared<ListOptions>();
  AddCommonOptions(command, invocation);
  command->add_option("--matrix", options->matrix, "Another matrix than the project's")
      ->type_name("FILE");
  command->add_option("--class", options->hardware_class, "Hardware class")
      ->type_name("CLASS")
      ->capture_default_str();
  command->add_flag("--cells", options->cells, "Only the cells, one a line");
  command->callback([=] { invocation->action = [=] { return List(*invocation, *options); }; });
}

}  // namespace flipgate
